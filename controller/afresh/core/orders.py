"""Builds the Order of one episode from a package and its class. An Order holds no secret."""

from collections.abc import Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any

from afresh.api.agent_class import AgentClass, ModelPricing
from afresh.api.package_status import SubtaskRecord
from afresh.api.resources import quantity_value
from afresh.api.subtask import SubtaskEntry
from afresh.api.work_package import WorkPackage
from afresh.contract.order import (
    Agent,
    Author,
    Kept,
    Order,
    Price,
    Repository,
    Step,
    Submodule,
    Task,
    Verify,
)
from afresh.contract.words import AdapterName, Marker, ServerTools
from afresh.core.history.plan_state import goal_of, plan_of, title_of
from afresh.core.history.replay import PackageState
from afresh.core.history.transitions import is_last_chance
from afresh.core.observed import Observed
from afresh.core.programs import check_of, found_after
from afresh.core.push_target import passed_after, push_target


def order_of(
    seen: Observed, state: PackageState, batch: Sequence[SubtaskEntry], *, episode: str, **own: Any
) -> Order:
    """Return the Order of the episode called `episode` for the subtasks of `batch`.

    `own` are fields that differ from episode to episode: `budget` and `hint_seconds`. Raises
    KeyError if the class was not observed, or if an entry is not in the package.
    """
    package, agent_class = seen.package, seen.agent_class
    if agent_class is None:
        raise KeyError(package.spec.agent_class_name)
    records = state.by_id
    reports = [item.ended.report for item in state.attempt_results if item.ended.report]
    programs = found_after(package.status.programs, reports)
    return replace(
        _frame(seen, state, episode),
        agent=_agent(package, agent_class),
        tasks=tuple(
            _task(package, agent_class, entry, records[entry.id], programs) for entry in batch
        ),
        mode=package.spec.context.mode,
        guidance=tuple(package.spec.guidance),
        setup=_step(package),
        push_check=passed_after(seen, state.attempt_results, state.syncs) != push_target(package),
        **own,
    )


def sync_order(seen: Observed, state: PackageState, *, episode: str) -> Order:
    """Return the Order of a sync: the plan, and the repository to push it to."""
    return _frame(seen, state, episode)


def probe_order(seen: Observed, state: PackageState, *, episode: str) -> Order:
    """Return the Order of a push probe: a sync that pushes kept work, or else the plan."""
    kept = tuple(
        Kept(id=record.id, commit=record.kept, revision=record.observed_revision)
        for record in state.records
        if record.kept
    )
    return replace(_frame(seen, state, episode), push_check=True, kept=kept)


def _frame(seen: Observed, state: PackageState, episode: str) -> Order:
    package = seen.package
    return Order(
        episode=episode,
        package=f"{package.metadata.namespace}/{package.metadata.name}",
        goal=goal_of(package),
        repository=_repository(package),
        agent=Agent(adapter=AdapterName.COMMAND),
        tasks=(),
        plan=plan_of(package, state.by_id),
        report_url=seen.report_url,
        report_pins=seen.report_pins,
    )


def _repository(package: WorkPackage) -> Repository:
    spec = package.spec.repository
    author, signing = spec.author, spec.signing
    return Repository(
        url=spec.url,
        base_ref=spec.base_ref,
        branch=package.branch,
        secret_name=spec.secret_name,
        author=Author(name=author.name, email=author.email) if author else None,
        signing_secret_name=signing.secret_name if signing else None,
        cache_claim_name=spec.cache_claim_name,
        submodules=tuple(Submodule(path=item.path, url=item.url) for item in spec.submodules),
        lfs=spec.lfs,
    )


def _agent(package: WorkPackage, agent_class: AgentClass) -> Agent:
    spec = agent_class.spec
    credentials = spec.credentials
    return Agent(
        adapter=spec.adapter,
        command=tuple(spec.command or ()),
        model=spec.model,
        model_api=spec.model_api,
        endpoint=spec.endpoint,
        credentials_mode=credentials.mode if credentials else None,
        secret_name=credentials.secret_name if credentials else None,
        timeout_seconds=package.spec.episode.timeout_seconds,
        max_turns=package.spec.episode.max_turns,
        pricing=tuple(_price(item) for item in spec.pricing),
        disk_bytes=_disk_bytes(package, agent_class),
        silence_seconds=spec.model_silence_seconds,
        idle_seconds=spec.idle_seconds,
        allows_server_tools=spec.server_tools is ServerTools.ALLOWED,
    )


def _disk_bytes(package: WorkPackage, agent_class: AgentClass) -> int:
    own = package.spec.resources.limits if package.spec.resources else None
    asked = own.ephemeral_storage if own else None
    return int(quantity_value(asked or agent_class.spec.resources.limits.ephemeral_storage))


def _price(pricing: ModelPricing) -> Price:
    sent = pricing.input_usd_per_million
    return Price(
        model=pricing.model,
        context_window_tokens=pricing.context_window_tokens,
        max_output_tokens=pricing.max_output_tokens,
        input_usd_per_million=_decimal(sent),
        output_usd_per_million=_decimal(pricing.output_usd_per_million),
        cache_read_usd_per_million=_decimal(pricing.cache_read_usd_per_million or sent),
        cache_write_usd_per_million=_decimal(pricing.cache_write_usd_per_million or sent),
    )


def _decimal(value: Decimal | str) -> str:
    return str(value)


def _task(
    package: WorkPackage,
    agent_class: AgentClass,
    entry: SubtaskEntry,
    record: SubtaskRecord,
    programs: tuple[str, ...],
) -> Task:
    verify = package.verify_of(entry)
    image = verify.image or package.spec.image or agent_class.spec.image
    return Task(
        id=entry.id,
        title=title_of(entry),
        prompt=entry.prompt,
        verify=Verify(
            command=tuple(verify.command),
            timeout_seconds=verify.timeout_seconds,
            checkout=verify.checkout,
            image=image,
            check=check_of(verify.command[0], image, programs),
        ),
        revision=entry.revision,
        files=tuple(entry.files or ()),
        max_new_files=entry.max_new_files,
        guidance=tuple(entry.guidance),
        marker_on_failure=Marker.SKIPPED
        if is_last_chance(record, package.spec.max_consecutive_failures)
        else Marker.PENDING,
        has_work_aside=record.attempts > 0,
        kept=record.kept,
    )


def _step(package: WorkPackage) -> Step | None:
    setup = package.spec.setup
    if setup is None:
        return None
    return Step(command=tuple(setup.command), timeout_seconds=setup.timeout_seconds)

"""From a package and its class to the Order of one episode. It holds no secret."""

from decimal import Decimal

from afresh.api.agent_class import AgentClass, ModelPricing
from afresh.api.subtask import SubtaskEntry
from afresh.api.work_package import SubtaskRecord, WorkPackage
from afresh.contract.order import Agent, Order, PlanLine, Price, Repository, Step, Task, Verify
from afresh.contract.words import Marker
from afresh.core.observed import Observed
from afresh.core.settle import Standing


def order_of(seen: Observed, standing: Standing, entry: SubtaskEntry, *, episode: str) -> Order:
    """Return the Order of the episode called `episode` for the subtask `entry`.

    The class must have been observed. Raises KeyError when `entry` is not in the package.
    """
    package, agent_class = seen.package, seen.agent_class
    if agent_class is None:
        raise KeyError(package.spec.agent_class_name)
    spec = package.spec
    records = standing.by_id()
    return Order(
        episode=episode,
        package=f"{package.metadata.namespace}/{package.metadata.name}",
        goal=spec.goal or package.metadata.name,
        repository=Repository(
            url=spec.repository.url,
            base_ref=spec.repository.base_ref,
            branch=package.branch,
            secret_name=spec.repository.secret_name,
        ),
        agent=_agent(package, agent_class),
        tasks=(_task(package, entry, records[entry.id]),),
        plan=tuple(
            PlanLine(id=item.id, title=title_of(item), marker=_marker(records[item.id]))
            for item in spec.subtasks
        ),
        mode=spec.context.mode,
        guidance=tuple(spec.guidance),
        setup=_step(package),
        report_url=seen.report_url,
    )


def title_of(entry: SubtaskEntry) -> str:
    """Return the subtask's title, or its id where it has none."""
    return entry.title or entry.id


def _marker(record: SubtaskRecord) -> Marker:
    """A plan never shows another running subtask: that would tell of what is not there yet."""
    return Marker.PENDING if record.marker is Marker.RUNNING else record.marker


def _agent(package: WorkPackage, agent_class: AgentClass) -> Agent:
    spec = agent_class.spec
    credentials = spec.credentials
    return Agent(
        adapter=spec.adapter,
        command=tuple(spec.command or ()),
        model=spec.model,
        endpoint=spec.endpoint,
        credentials_mode=credentials.mode if credentials else None,
        secret_name=credentials.secret_name if credentials else None,
        timeout_seconds=package.spec.episode.timeout_seconds,
        max_turns=package.spec.episode.max_turns,
        pricing=tuple(_price(item) for item in spec.pricing),
    )


def _price(pricing: ModelPricing) -> Price:
    sent = pricing.input_usd_per_million
    return Price(
        model=pricing.model,
        context_window_tokens=pricing.context_window_tokens,
        input_usd_per_million=_decimal(sent),
        output_usd_per_million=_decimal(pricing.output_usd_per_million),
        cache_read_usd_per_million=_decimal(pricing.cache_read_usd_per_million or sent),
        cache_write_usd_per_million=_decimal(pricing.cache_write_usd_per_million or sent),
    )


def _decimal(value: Decimal | str) -> str:
    return str(value)


def _task(package: WorkPackage, entry: SubtaskEntry, record: SubtaskRecord) -> Task:
    verify = package.verify_of(entry)
    last_chance = record.consecutive_failures + 1 >= package.spec.max_consecutive_failures
    return Task(
        id=entry.id,
        title=title_of(entry),
        prompt=entry.prompt,
        verify=Verify(
            command=tuple(verify.command),
            timeout_seconds=verify.timeout_seconds,
            checkout=verify.checkout,
        ),
        revision=entry.revision,
        files=tuple(entry.files or ()),
        max_new_files=entry.max_new_files,
        guidance=tuple(entry.guidance),
        marker_on_failure=Marker.SKIPPED if last_chance else Marker.PENDING,
    )


def _step(package: WorkPackage) -> Step | None:
    setup = package.spec.setup
    if setup is None:
        return None
    return Step(command=tuple(setup.command), timeout_seconds=setup.timeout_seconds)

"""Builders with valid defaults: a test names only what matters to it."""

from datetime import UTC, datetime, timedelta
from typing import Any

from afresh.api.agent_class import AgentClass
from afresh.api.package_status import SubtaskRecord
from afresh.api.subtask import SubtaskObject
from afresh.api.work_package import WorkPackage
from afresh.contract.report import Report, Result, Usage
from afresh.contract.words import Outcome
from afresh.core.decision import Decision, StartEpisode
from afresh.core.history.plan_state import wanted_digest
from afresh.core.history.transitions import MARKERS
from afresh.core.names import subtask_name
from afresh.core.observed import ContainerFacts, ContainerState, Episode, Member, Observed, PodFacts
from afresh.core.planner import child_spec

NOW = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
PACKAGE_UID = "11111111-2222-3333-4444-555555555555"


def seconds(number: float) -> timedelta:
    return timedelta(seconds=number)


def make_entry(id: str = "T001", **fields: Any) -> dict[str, Any]:
    return {"id": id, "title": f"Title of {id}", "prompt": f"Do {id}.", **fields}


def make_package(
    subtasks: list[dict[str, Any]] | None = None,
    status: dict[str, Any] | None = None,
    metadata: dict[str, Any] | None = None,
    **spec: Any,
) -> WorkPackage:
    return WorkPackage.model_validate(
        {
            "metadata": {
                "name": "token-auth",
                "namespace": "team-a",
                "uid": PACKAGE_UID,
                "generation": 1,
                "resourceVersion": "10",
                "creationTimestamp": "2030-01-02T03:00:00Z",
                **(metadata or {}),
            },
            "spec": {
                "goal": "Add token authentication.",
                "agentClassName": "command",
                "repository": {"url": "https://git.example.com/team/api.git"},
                "verify": {"command": ["make", "test"]},
                "subtasks": subtasks or [make_entry()],
                **spec,
            },
            "status": status or {},
        }
    )


def make_class(**spec: Any) -> AgentClass:
    return AgentClass.model_validate(
        {
            "metadata": {"name": "command", "uid": "c", "generation": 1},
            "spec": {
                "adapter": "Command",
                "command": ["/bin/true"],
                "image": "example.com/agent:1",
                **spec,
            },
        }
    )


def make_record(id: str = "T001", **fields: Any) -> SubtaskRecord:
    record = SubtaskRecord(id=id, **{"reason": "Waiting", **fields})
    return record.model_copy(update={"marker": MARKERS[record.phase]})


def make_report(outcome: Outcome = Outcome.SUCCESS, subtask: str = "T001", **fields: Any) -> Report:
    result = {"commit": "c0ffee" if outcome is Outcome.SUCCESS else None, "message": f"{outcome}."}
    own = {key: fields.pop(key) for key in ("commit", "message", "verify") if key in fields}
    return Report(
        **{
            "episode": "token-auth-t001-1-abc",
            "stage": "reported",
            "final": True,
            "results": (Result(id=subtask, outcome=outcome, **{**result, **own}),),
            "head": "c0ffee",
            "usage": Usage(turns=2, input_tokens=10, output_tokens=5, cost_usd="0.01"),
            **fields,
        }
    )


def make_container(name: str, state: str = "Running", **fields: Any) -> ContainerFacts:
    kind = ContainerState(state)
    started = kind is not ContainerState.WAITING
    return ContainerFacts(**{"name": name, "state": kind, "started": started, **fields})


def make_pod(*containers: ContainerFacts, **fields: Any) -> PodFacts:
    named = {item.name for item in containers}
    others = [make_container(n) for n in ("runner", "agent", "verify") if n not in named]
    return PodFacts(
        **{
            "name": "pod",
            "uid": "pod-uid",
            "phase": "Running",
            "containers": (*containers, *others),
            **fields,
        }
    )


def make_episode(
    subtask: str = "T001", attempt: int = 1, revision: int = 0, **fields: Any
) -> Episode:
    member = Member(subtask=subtask, attempt=attempt, revision=revision)
    return Episode(
        **{
            "name": f"token-auth-{subtask.lower()}-{attempt}-abc",
            "uid": f"job-{subtask}-{attempt}",
            "members": (member,),
            "attempt": attempt,
            "created": NOW - seconds(20),
            "released": NOW - seconds(20),
            "pod": make_pod(),
            **fields,
        }
    )


def make_batch(*subtasks: str, **fields: Any) -> Episode:
    """An episode that does several subtasks, each for the first time."""
    members = tuple(Member(subtask=name, attempt=1) for name in subtasks)
    return make_episode(subtasks[0], **{"members": members, **fields})


def make_sync(attempt: int = 1, **fields: Any) -> Episode:
    named = {"name": f"token-auth-plan-{attempt}-abc", "uid": f"sync-{attempt}"}
    return make_episode("", attempt, **{**named, "members": (), "plan": "sha256:new", **fields})


def make_child(package: WorkPackage, id: str, **status: Any) -> SubtaskObject:
    entry = next(item for item in package.spec.subtasks if item.id == id)
    return SubtaskObject.model_validate(
        {
            "metadata": {
                "name": subtask_name(package.metadata.name, id),
                "namespace": package.metadata.namespace,
                "uid": f"child-{id}",
                "generation": 1,
            },
            "spec": child_spec(entry, package.metadata.name).to_manifest(),
            "status": status,
        }
    )


def make_seen(
    package: WorkPackage | None = None, records: list[SubtaskRecord] | None = None, **fields: Any
) -> Observed:
    package = package or make_package()
    if records is not None:
        known = {entry.id for entry in package.spec.subtasks}
        assert {record.id for record in records} <= known, "a record of a subtask that is not there"
        by_id = {entry.id: make_record(entry.id) for entry in package.spec.subtasks}
        by_id |= {record.id: record for record in records}
        plan = wanted_digest(package, tuple(by_id.values()))
        known = {"subtasks": tuple(records), "observed_generation": 1, "plan_digest": plan}
        status = package.status.model_copy(update=known)
        package = package.model_copy(update={"status": status})
    children = tuple(make_child(package, entry.id) for entry in package.spec.subtasks)
    return Observed(
        **{
            "now": NOW,
            "package": package,
            "agent_class": make_class(),
            "subtasks": children,
            "report_url": "http://10.0.0.1:8080/v1/report",
            **fields,
        }
    )


def starts_of(decision: Decision) -> list[str]:
    """The batches of the episodes that a decision starts, as ids joined by a plus."""
    starts = [item for item in decision.actions if isinstance(item, StartEpisode)]
    return ["+".join(member.subtask for member in item.members) for item in starts]

"""Parses the API's dicts into the core's values. Raw dicts go no further."""

from datetime import datetime, timedelta
from typing import Any

from afresh.contract import codec, report
from afresh.contract.order import Budget
from afresh.contract.pod_layout import (
    ANNOTATION_BATCH,
    ANNOTATION_BUDGET,
    ANNOTATION_GATE,
    ANNOTATION_GENERATIONS,
    ANNOTATION_INPUTS,
    ANNOTATION_MODE,
    ANNOTATION_PLAN,
    LABEL_ATTEMPT,
    LABEL_SUBTASK,
    RUNNER,
)
from afresh.contract.report import Report
from afresh.contract.stable_words import steady
from afresh.contract.text import one_line
from afresh.contract.words import ContextMode
from afresh.core.observed import ContainerFacts, ContainerState, Episode, Member, PodFacts
from afresh.kube.cache import has_ended
from afresh.kube.errors import UnreadableError
from afresh.kube.resources import Manifest
from afresh.manifests.job import KUEUE_QUEUE_LABEL
from afresh.manifests.metadata import read_batch


def parse_episode(
    job: Manifest, pod: Manifest | None, *, hint: Report | None, refusal: str | None
) -> Episode:
    """Return one Job and its pod as an Episode. The pod's Report takes precedence over the hint."""
    metadata, spec, status = job["metadata"], job["spec"], job.get("status", {})
    conditions = _true_conditions(status)
    failed = conditions.get("Failed")
    return Episode(
        name=metadata["name"],
        uid=metadata["uid"],
        **_facts(job),
        created=parse_time(metadata["creationTimestamp"]),
        released=parse_time(status["startTime"]) if "startTime" in status else None,
        suspended=bool(spec.get("suspend")) and not has_ended(job),
        has_queue=KUEUE_QUEUE_LABEL in metadata.get("labels", {}),
        complete="Complete" in conditions,
        failure=failed["reason"] if failed else None,
        deleting="deletionTimestamp" in metadata,
        pod=parse_pod(pod) if pod else None,
        report=_latest(parse_report(pod, metadata["name"]) if pod else None, hint),
        refusal=refusal,
    )


def parse_orphan(pod: Manifest) -> Episode | None:
    """Return the episode of a pod whose Job is gone, or None if the pod never had one."""
    metadata = pod["metadata"]
    owners = [item for item in metadata.get("ownerReferences", []) if item.get("controller")]
    if not owners or owners[0].get("kind") != "Job":
        return None
    return Episode(
        name=owners[0]["name"],
        uid=owners[0]["uid"],
        **_facts(pod),
        created=parse_time(metadata["creationTimestamp"]),
        deleting=True,
        pod=parse_pod(pod),
        report=parse_report(pod, owners[0]["name"]),
    )


def _latest(written: Report | None, hint: Report | None) -> Report | None:
    """Return the Report, or the hint if only the hint is final."""
    if written is None or (hint and hint.final and not written.final):
        return hint
    return written


def parse_pod(pod: Manifest) -> PodFacts:
    """Return the facts of a pod's status."""
    metadata, status = pod["metadata"], pod.get("status", {})
    conditions = {item["type"]: item for item in status.get("conditions", [])}
    disruption = conditions.get("DisruptionTarget", {})
    scheduled = conditions.get("PodScheduled", {})
    since = metadata.get("deletionTimestamp")
    return PodFacts(
        name=metadata["name"],
        uid=metadata["uid"],
        phase=status.get("phase", "Pending"),
        reason=status.get("reason", ""),
        message=steady(status.get("message", "")),
        deleting_since=parse_time(since) if since else None,
        disruption=disruption.get("reason") if disruption.get("status") == "True" else None,
        unschedulable=_unschedulable(scheduled),
        scheduled=_since(scheduled),
        sandboxed=_since(conditions.get("PodReadyToStartContainers", {})),
        deadline=_deadline(pod, _since(scheduled)),
        containers=tuple(_container(item) for item in _container_statuses(status)),
    )


def _deadline(pod: Manifest, scheduled: datetime | None) -> datetime | None:
    """Return when the kubelet ends the pod. It counts from the pod's start by its own clock."""
    seconds = pod.get("spec", {}).get("activeDeadlineSeconds")
    taken = pod.get("status", {}).get("startTime")
    if not seconds or not taken:
        return None
    since = parse_time(taken)
    return max(since, scheduled or since) + timedelta(seconds=seconds)


def _container_statuses(status: Manifest) -> list[Manifest]:
    """Return the statuses of the init containers, which webhooks add, and of the containers."""
    return [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]


def parse_report(pod: Manifest, episode: str) -> Report | None:
    """Return the Report in the runner's termination message, if it is one for this episode.

    A runner that could not read its Order does not know which episode it was.
    """
    for item in pod.get("status", {}).get("containerStatuses", []):
        terminated = item.get("state", {}).get("terminated")
        if item["name"] != RUNNER or not terminated or not terminated.get("message"):
            continue
        try:
            told = report.parse(terminated["message"])
        except codec.ContractError:
            return None
        return told if told.episode in (episode, "") else None
    return None


def members_of(item: Manifest) -> tuple[Member, ...]:
    """Return the batch of a Job or a pod. Raises UnreadableError if its annotations are invalid."""
    members: tuple[Member, ...] = _facts(item)["members"]
    return members


def attempt_of(item: Manifest) -> int:
    """Return the attempt number of a Job or a pod. Raises UnreadableError if it is invalid."""
    attempt: int = _facts(item)["attempt"]
    return attempt


def is_readable(item: Manifest) -> bool:
    """Whether a Job or a pod has valid labels and annotations of an episode."""
    try:
        _facts(item)
    except UnreadableError:
        return False
    return True


def _facts(item: Manifest) -> dict[str, Any]:
    """Read an episode's facts from labels and annotations. Raises UnreadableError."""
    metadata = item["metadata"]
    labels, notes = metadata.get("labels", {}), metadata.get("annotations", {})
    budget = notes.get(ANNOTATION_BUDGET)
    try:
        return {
            "attempt": int(labels[LABEL_ATTEMPT]),
            # Only a sync has neither a subtask nor a batch.
            "members": read_batch(notes[ANNOTATION_BATCH]) if labels[LABEL_SUBTASK] else (),
            "mode": ContextMode(notes[ANNOTATION_MODE]) if ANNOTATION_MODE in notes else None,
            "generations": notes.get(ANNOTATION_GENERATIONS, ""),
            "inputs": notes.get(ANNOTATION_INPUTS, ""),
            "probe": notes.get(ANNOTATION_GATE, ""),
            "budget": codec.loads(Budget, budget) if budget else None,
            "plan": notes.get(ANNOTATION_PLAN, ""),
        }
    except (KeyError, ValueError, codec.ContractError) as error:
        raise UnreadableError(
            f"{metadata['name']} has lost the labels and annotations of afresh.dev; delete it."
        ) from error


def parse_time(text: str) -> datetime:
    """Return an API timestamp as an aware datetime."""
    return datetime.fromisoformat(text)


def _true_conditions(status: Manifest) -> dict[str, Manifest]:
    return {item["type"]: item for item in status.get("conditions", []) if item["status"] == "True"}


def _since(condition: Manifest) -> datetime | None:
    """Return since when the condition is true, or None if it is not."""
    if condition.get("status") != "True" or not condition.get("lastTransitionTime"):
        return None
    return parse_time(condition["lastTransitionTime"])


def _unschedulable(condition: Manifest) -> str | None:
    if condition.get("status") != "False" or condition.get("reason") != "Unschedulable":
        return None
    return one_line(condition.get("message", "")) or "Unschedulable"


def _container(item: Manifest) -> ContainerFacts:
    state: dict[str, Any] = item.get("state", {})
    last: dict[str, Any] = item.get("lastState", {})
    for name, kind in _STATES.items():
        if name in state:
            facts = state[name]
            return ContainerFacts(
                name=item["name"],
                state=kind,
                image=item.get("image", ""),
                started=bool(facts.get("startedAt")) or "terminated" in last,
                reason=facts.get("reason", ""),
                message=steady(facts.get("message", "")) if item["name"] != RUNNER else "",
                exit_code=facts.get("exitCode"),
                began=parse_time(facts["startedAt"]) if facts.get("startedAt") else None,
                finished=parse_time(facts["finishedAt"]) if facts.get("finishedAt") else None,
            )
    return ContainerFacts(
        name=item["name"], state=ContainerState.WAITING, image=item.get("image", "")
    )


_STATES = {
    "running": ContainerState.RUNNING,
    "terminated": ContainerState.TERMINATED,
    "waiting": ContainerState.WAITING,
}

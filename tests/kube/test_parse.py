"""What the core is told of a Job."""

from typing import Any

import pytest

from afresh.kube.parse import parse_episode, parse_pod, parse_time
from afresh.kube.resources import JOBS
from tests.kube.journeys import by_subtask, entries
from tests.kube.world import make_world


@pytest.mark.parametrize(
    ("condition", "want_queued"), [(None, True), ("Complete", False), ("Failed", False)]
)
async def test_a_suspended_job_waits_in_its_queue_unless_it_has_ended(
    condition: str | None, want_queued: bool
) -> None:
    job = await queued_job()
    ended = [{"type": condition, "status": "True", "reason": "So"}] if condition else []

    episode = parse_episode({**job, "status": {"conditions": ended}}, None, hint=None, refusal=None)

    assert (episode.suspended, episode.finished) == (want_queued, not want_queued)


async def queued_job() -> dict[str, Any]:
    world = make_world({"subtasks": entries("A"), "queueName": "agents"}, judge=by_subtask())
    await world.turn()
    (job,) = world.api.of_kind(JOBS)
    return job


@pytest.mark.parametrize(
    ("scheduled", "taken", "want"),
    [
        ("03:00:00", "03:00:02", "03:10:02"),
        ("03:00:00", "02:00:02", "03:10:00"),
        ("03:00:00", None, None),
    ],
    ids=["the node takes it later", "the clock of the node is late", "no node has taken it"],
)
def test_a_pods_deadline_counts_from_when_its_node_has_taken_it(
    scheduled: str, taken: str | None, want: str | None
) -> None:
    at = {"type": "PodScheduled", "status": "True", "lastTransitionTime": time(scheduled)}
    status = {"conditions": [at], **({"startTime": time(taken)} if taken else {})}
    metadata = {"name": "pod", "uid": "pod"}

    pod = parse_pod(
        {"metadata": metadata, "spec": {"activeDeadlineSeconds": 600}, "status": status}
    )

    assert pod.deadline == (parse_time(time(want)) if want else None)


def time(clock: str) -> str:
    return f"2030-01-02T{clock}Z"

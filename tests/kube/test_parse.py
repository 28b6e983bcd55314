"""What the core is told of a Job."""

from typing import Any

import pytest

from afresh.kube.client import JOBS
from afresh.kube.parse import parse_episode
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

"""An image that nobody can pull for ten minutes, with eighty subtasks waiting: `make test-matrix`.

The name keeps it out of the daily run, which has the same story with a shorter outage.
"""

import time
from functools import partial

import pytest

from afresh.core.history.shared_causes import PULL_WAITING
from tests.e2e.api import Manifest
from tests.e2e.cluster import wait
from tests.e2e.crowd import asked, reasons_of, statuses_of
from tests.e2e.team import Team
from tests.e2e.test_shared_causes import LATE_IMAGE, MOST_EVENTS, MOST_JOBS, PACKAGES, have_image

pytestmark = [pytest.mark.cluster, pytest.mark.story(long=True)]

SUBTASKS = [f"Add a stamp.\ndo: stamp {number}.txt" for number in range(4)]
OUTAGE_SECONDS = 600
# The longest step of a back-off, and what a busy node needs to start a pod of each package.
STEP_SECONDS = 300 + 120
PATIENCE = 1800
SAID = ("Pending", "ImageNotPulled")


def test_eighty_subtasks_wait_ten_minutes_for_an_image_at_the_cost_of_eight_jobs(
    team: Team,
) -> None:
    team.agent(image=LATE_IMAGE)
    begun = time.monotonic()
    for name in PACKAGES:
        team.apply(team.package(name, *SUBTASKS, parallelism=4))
    wait("all wait", lambda: reasons_of(team, PACKAGES) == {SAID}, seconds=180)
    # Until the kubelet says what is wrong, on a busy node some seconds later, Events are read.
    wait(
        "every pod tells",
        lambda: all(map(tells, team.cluster.api.items("pods", team.namespace))),
        seconds=180,
    )
    lists = asked(team).event_lists
    seen = set()

    def is_over() -> bool:
        seen.update(statuses_of(team, PACKAGES))
        return time.monotonic() > begun + OUTAGE_SECONDS

    wait("the outage is over", is_over, seconds=2 * OUTAGE_SECONDS, every=2)
    cost = asked(team)
    have_image(team)
    wait("none waits", lambda: not waiting(team), seconds=STEP_SECONDS)
    for name in PACKAGES:
        wait(f"{name} has begun", partial(has_begun, team, name), seconds=STEP_SECONDS)
    ends = [team.wait_for("Succeeded", package=name, seconds=PATIENCE) for name in PACKAGES]

    ((phase, reason, message),) = seen
    assert (phase, reason) == SAID
    assert message.startswith(f"Correct the image {LATE_IMAGE}")
    assert cost.jobs <= MOST_JOBS
    assert cost.events <= MOST_EVENTS
    assert cost.event_lists == lists <= MOST_JOBS
    assert {status["usage"]["episodes"] for status in ends} == {len(SUBTASKS)}


def tells(pod: Manifest) -> bool:
    """Whether the pod itself says that an image is missing."""
    waits = [
        item["state"].get("waiting", {}) for item in pod["status"].get("containerStatuses", [])
    ]
    return any(item.get("reason") in PULL_WAITING for item in waits)


def waiting(team: Team) -> list[str]:
    """The packages that wait for the image."""
    return [name for name in PACKAGES if "wait" in team.status(name)]


def has_begun(team: Team, package: str) -> bool:
    """Whether a subtask of the package is done."""
    return not team.status(package).get("progress", "0/").startswith("0/")

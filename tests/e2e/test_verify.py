"""The acceptance command in pods: in an image of its own, and out of the agent's reach."""

import pytest

from tests.e2e.cluster import wait
from tests.e2e.team import SECONDS, STAMP, Team, message_of

pytestmark = [pytest.mark.cluster, pytest.mark.story]

RUNNER = "localhost/afresh/runner:dev"
# Only the runner's image has this.
HAS_RUNNER = ["python3", "-c", "import afresh.episode; print('verified in', 'the other image')"]


def images_of(team: Team, subtask: str) -> dict[tuple[str, str], str]:
    """The images of the subtask's pod, by its containers; waits until there is one."""

    def found() -> dict[tuple[str, str], str]:
        return {
            (subtask, item["name"]): item["image"]
            for pod in team.pods()
            if pod["metadata"]["labels"]["afresh.dev/subtask"] == subtask
            for item in pod["spec"]["containers"]
        }

    images: dict[tuple[str, str], str] = wait(f"{subtask} has a pod", found, seconds=SECONDS)
    return images


def test_verify_runs_in_the_image_that_it_names_and_the_agent_in_its_own(team: Team) -> None:
    team.agent(allowedImages=["localhost/afresh/runner:*"])
    tasks = [
        {"prompt": "Stamp.\ndo: stamp", "verify": {"command": HAS_RUNNER, "image": RUNNER}},
        {"prompt": "Stamp.\ndo: stamp", "verify": {"command": HAS_RUNNER}},
    ]
    team.apply(team.package("p", *tasks, maxConsecutiveFailures=1))

    images = images_of(team, "T001") | images_of(team, "T002")
    status = team.wait_for("NeedsReview")

    assert [item["marker"] for item in status["subtasks"]] == ["[x]", "[S]"]
    (first,), (second,) = team.attempts("T001"), team.attempts("T002")
    assert "verified in the other image" in first["verify"]["tail"]
    assert "No module named 'afresh'" in second["verify"]["tail"]
    assert (first["verify"]["exitCode"], second["verify"]["exitCode"]) == (0, 1)
    assert min(first["verify"]["durationSeconds"], second["verify"]["durationSeconds"]) > 0
    assert images["T001", "verify"] == images["T001", "runner"] == RUNNER
    assert images["T001", "agent"] == images["T002", "verify"] != RUNNER


def test_an_image_of_verify_that_the_class_does_not_allow_starts_nothing(team: Team) -> None:
    verify = {"command": ["true"], "image": RUNNER}
    team.apply(team.package("p", verify=verify))

    stalled = team.wait_for("Stalled", reason="ImageNotAllowed")
    team.agent(allowedImages=[RUNNER])
    status = team.wait_for("Succeeded")

    assert RUNNER in message_of(stalled)
    assert status["usage"]["episodes"] == 1


def test_an_image_of_verify_that_is_missing_costs_no_agent_and_correcting_it_is_enough(
    team: Team,
) -> None:
    team.agent(allowedImages=["localhost/*", "localhost/afresh/runner:*"])
    missing = {"command": ["true"], "image": "localhost/nowhere:dev"}
    team.apply(team.package("p", STAMP, verify=missing))

    def waits() -> bool:
        return team.status("p").get("wait", {}).get("cause") == "ImagePull"

    wait("the image is missed", waits, seconds=SECONDS)
    (pod,) = team.pods()
    started = {item["name"]: item.get("started") for item in pod["status"]["containerStatuses"]}
    team.apply(team.package("p", STAMP, verify={**missing, "image": RUNNER}))
    status = team.wait_for("Succeeded")

    assert not started["verify"]
    assert status["usage"]["episodes"] == 1
    assert team.branch().read("stamps.txt").count("\n") == 1


def test_what_an_agent_leaves_outside_of_its_worktree_is_not_there_for_verify(team: Team) -> None:
    planted = "$HOME/planted /tmp/planted /dev/shm/planted .git/planted build/planted"
    leave = f"echo build > .gitignore; mkdir build; touch {planted}; stamp"
    look = f'test -e stamps.txt; for name in {planted}; do [ ! -e "$name" ] || exit 1; done'
    verify = {"command": ["/bin/sh", "-ec", look]}
    drop = {"command": ["/bin/sh", "-c", "touch dropped; test -e stamps.txt"]}
    tasks = [
        {"prompt": f"Plant.\ndo: {leave}", "verify": verify},
        {"prompt": "Stamp.\ndo: stamp", "verify": drop},
    ]
    team.apply(team.package("p", *tasks))

    team.wait_for("Succeeded")

    branch = team.branch()
    assert branch.read("stamps.txt").count("\n") == 2
    assert branch.read("dropped") == branch.read("build/planted") == ""

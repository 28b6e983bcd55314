"""Wrong settings: the package says what to do, and goes on once it is corrected."""

import json
from typing import Any

import pytest

from tests.e2e.cluster import ROOT
from tests.e2e.team import Team, message_of

pytestmark = [pytest.mark.cluster, pytest.mark.story]


def test_a_missing_git_secret_is_named_and_creating_it_is_enough(team: Team) -> None:
    team.apply(team.package("p", repository={"secretName": "absent"}))

    stalled = team.wait_for("Stalled", reason="Config")
    team.secret("absent", username="afresh", password=team.git_password)
    status = team.wait_for("Succeeded")

    assert 'Secret "absent"' in message_of(stalled)
    assert (status["usage"]["episodes"], status["subtasks"][0]["consecutiveFailures"]) == (1, 0)


def test_a_wrong_git_password_is_told_and_correcting_it_is_enough(team: Team) -> None:
    team.secret("wrong", username="afresh", password="wrong")
    team.apply(team.package("p", repository={"secretName": "wrong"}))

    stalled = team.wait_for("Stalled", reason="Auth")
    team.secret("wrong", username="afresh", password=team.git_password)
    team.wait_for("Succeeded")

    assert 'Secret "wrong"' in message_of(stalled)
    assert team.git_password not in json.dumps(team.status())


REPOSITORIES = [
    pytest.param({"baseRef": "no-such-ref"}, "Stalled", "Config", "no-such-ref", id="base ref"),
    pytest.param({"url": "{git}/nothing.git"}, "Stalled", "Config", "nothing.git", id="repository"),
    pytest.param(
        {"url": "http://10.96.255.254/x.git"},
        "Pending",
        "GitUnreachable",
        "10.96.255.254",
        id="host",
    ),
]


@pytest.mark.parametrize(("repository", "phase", "reason", "names"), REPOSITORIES)
def test_a_repository_that_cannot_be_had_is_named(
    team: Team, repository: dict[str, str], phase: str, reason: str, names: str
) -> None:
    found = {key: value.format(git=team.git) for key, value in repository.items()}
    team.apply(team.package("p", repository=found))

    status = team.wait_for(phase, reason=reason)

    assert names in message_of(status)


IMAGES = [
    pytest.param("localhost/afresh/Agent:dev", "Stalled", "Config", id="a name that is no name"),
    pytest.param("localhost/absent:dev", "Pending", "ImageNotPulled", id="a registry that is away"),
    pytest.param("localhost/afresh/pause:dev", "Stalled", "Config", id="an image without a shell"),
]


@pytest.mark.parametrize(("image", "phase", "reason"), IMAGES)
def test_an_image_that_cannot_be_had_is_told_and_correcting_it_is_enough(
    team: Team, image: str, phase: str, reason: str
) -> None:
    team.agent(image=image)
    team.apply(team.package("p"))

    status = team.wait_for(phase, reason=reason)
    team.agent()
    team.wait_for("Succeeded")

    assert "he container agent cannot start" in message_of(status)


def test_a_refused_model_key_is_told_and_correcting_it_is_enough(team: Team) -> None:
    team.secret("model-key", **{"api-key": "wrong"})
    team.claude()
    team.apply(team.package("p", first_subtask()))

    stalled = team.wait_for("Stalled", reason="Auth")
    team.secret("model-key", **{"api-key": team.model_key})
    team.wait_for("Succeeded")

    assert 'Secret "model-key"' in message_of(stalled)


def first_subtask() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / "tools/fakemodel/subtasks.json").read_text())[0]
    return {**found, "verify": {"command": found["verify"]}}

"""A team tries its own agent images with `afresh conformance` before an episode needs them."""

import json

import pytest

from tests.e2e.servers import IMAGES
from tests.e2e.team import Team

pytestmark = [pytest.mark.cluster, pytest.mark.story]


@pytest.mark.parametrize(
    ("image", "words", "want"),
    [
        pytest.param("agent-claude", (), {}, id="Claude Code"),
        pytest.param("agent-command", ("--adapter", "Command", "--", "sh"), {}, id="a command"),
        pytest.param("agent-command", (), {"program": "exit code 127"}, id="the wrong image"),
    ],
)
def test_an_image_is_tried_in_a_pod_and_what_it_lacks_is_named(
    team: Team, image: str, words: tuple[str, ...], want: dict[str, str]
) -> None:
    reference = "{IMAGES}/{image}:{TAG}".format(image=image, **IMAGES)

    done = team.try_afresh("conformance", "-o", "json", reference, *words)

    report = json.loads(done.stdout)
    failed = {
        item["id"]: item["detail"] for item in report["findings"] if item["verdict"] == "failed"
    }
    assert failed == want
    assert report["conforms"] is not bool(want)
    assert done.returncode == (1 if want else 0)
    left = team.cluster.api.items("pods", team.namespace)
    assert [pod for pod in left if "deletionTimestamp" not in pod["metadata"]] == []

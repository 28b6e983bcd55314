"""Orders that cannot be carried out as they stand."""

import pytest

from afresh.contract.words import Outcome
from tests.episode.pod import Pod, make_order
from tests.episode.servers import Remote


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param('{"episode": "demo"}', "Order.package is missing", id="a field is missing"),
        pytest.param("", "Order is not JSON", id="it is empty"),
        pytest.param(
            '{"version": 2, "episode": "", "package": "", "goal": "", "tasks": [], "plan": [],'
            ' "repository": {"url": "", "baseRef": "", "branch": ""},'
            ' "agent": {"adapter": "Command"}}',
            "this runner knows no Order of version 2",
            id="it is of another version",
        ),
    ],
)
def test_order_that_cannot_be_read_is_refused_with_a_final_report(pod: Pod, text: str, want: str):
    report = pod.run(text)

    assert report.final
    assert report.results == ()
    assert want in report.log_tail
    assert pod.exit_code == 1
    assert pod.shim_codes == [0, 0]


def test_runner_without_git_says_that_it_failed_in_its_report(pod: Pod, remote: Remote):
    pod.environment = {"PATH": "/nonexistent"}

    pod.run(make_order(remote.url, "true"))

    assert pod.result.outcome is Outcome.INFRASTRUCTURE
    assert "read its log" in pod.result.message
    assert "git" in pod.log

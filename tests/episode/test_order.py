"""Orders that cannot be carried out as they stand."""

from dataclasses import replace

import pytest

from afresh.contract.words import Outcome
from tests.episode.pod import Pod, make_order, make_task
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


def test_two_subtasks_in_one_order_are_refused_with_what_to_set(pod: Pod, remote: Remote):
    tasks = (make_task(), make_task(id="T002"))

    report = pod.run(replace(make_order(remote.url, "echo hello > hello.txt"), tasks=tasks))

    assert [result.outcome for result in report.results] == [Outcome.CONFIG, Outcome.CONFIG]
    assert "FreshPerSubtask" in report.results[0].message
    assert remote.head("afresh/demo") is None

"""Orders that were written before others pushed: what those have put on the branch stays."""

from dataclasses import replace

import pytest

from afresh.contract.order import Order, PlanLine, Task, Verify
from afresh.contract.words import Marker, Outcome
from tests.episode.pod import Pod, Started, make_order, make_task
from tests.episode.servers import PASSWORD, USERNAME, Remote, git
from tests.episode.test_pipeline import WAIT, batch, summary

BRANCH = "afresh/demo"
GIVEN_UP = {"verify": Verify(command=("false",)), "marker_on_failure": Marker.SKIPPED}


def another(pod: Pod) -> Pod:
    """A fresh pod for the same package."""
    made = Pod(pod.root.with_name(pod.root.name + "+"))
    made.give_credentials(USERNAME, PASSWORD)
    return made


def plan_of(remote: Remote) -> list[str]:
    return remote.file(BRANCH, ".afresh/PLAN.md").splitlines()[-2:]


def farewell(remote: Remote, script: str = "echo bye > bye.txt", **changes: object) -> Order:
    """An Order for T002 that knows nothing of what T001 has come to."""
    return make_order(
        remote.url, script, tasks=(make_task(id="T002", title="Farewell", **changes),)
    )


@pytest.mark.parametrize(
    ("script", "task", "late", "want"),
    [
        pytest.param(
            "echo hello > hello.txt", make_task(), {}, "[x][x]", id="one is done, then another"
        ),
        pytest.param(
            "echo hello > hello.txt", make_task(), GIVEN_UP, "[x][S]", id="then another is given up"
        ),
        pytest.param(
            "echo 'Which key?' > .afresh/outbox/blocked.md",
            make_task(),
            {},
            "[!][x]",
            id="one is blocked, then another is done",
        ),
        pytest.param(
            "echo hello > hello.txt",
            make_task(**GIVEN_UP),
            GIVEN_UP,
            "[S][S]",
            id="both are given up",
        ),
    ],
)
def test_subtask_of_an_earlier_order_keeps_the_marker_that_another_episode_has_pushed(
    pod: Pod, remote: Remote, script: str, task: Task, late: dict[str, object], want: str
):
    pod.run(make_order(remote.url, script, tasks=(task,)))
    after = another(pod)

    after.run(farewell(remote, **late))

    assert plan_of(remote) == [f"- {want[:3]} T001 Greeting", f"- {want[3:]} T002 Farewell"]


def test_subtask_whose_revision_was_raised_since_is_pending_again_in_the_plan(
    pod: Pod, remote: Remote
):
    pod.run(make_order(remote.url, "echo hello > hello.txt"))
    order = farewell(remote)
    raised = PlanLine(id="T001", title="Greeting", marker=Marker.PENDING, revision=1)
    late = another(pod)

    late.run(replace(order, plan=(raised, *order.plan[1:])))

    assert late.result.outcome is Outcome.SUCCESS, late.log
    assert plan_of(remote) == ["- [ ] T001 Greeting", "- [x] T002 Farewell"]


def test_branch_that_is_deleted_between_two_subtasks_is_a_conflict_that_says_so(
    pod: Pod, remote: Remote
):
    def delete(started: Started) -> None:
        started.wait_for((pod.root / "home/agent/working").exists)
        git(remote.directory, "update-ref", "-d", f"refs/heads/{BRANCH}")
        pod.put("/home/agent/go-on", "")

    report = pod.run(batch(remote, "echo a > a", f"echo b > b; {WAIT}"), delete)

    assert summary(report.results) == [
        ("T001", Outcome.SUCCESS, True),
        ("T002", Outcome.CONFLICT, False),
    ], pod.log
    assert report.results[1].message.startswith(
        'The branch "afresh/demo" was deleted by someone else; push it again '
    )
    assert remote.head(BRANCH) is None

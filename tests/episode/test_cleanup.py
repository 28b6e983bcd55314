"""What a failure leaves on the remote: the plan with its marker, notes, and the work aside."""

import pytest

from afresh.contract import plan_file
from afresh.contract.order import Order, Task, Verify
from afresh.contract.words import Marker, Outcome
from tests.episode.pod import Pod, Started, make_order, make_task
from tests.episode.servers import PASSWORD, USERNAME, Remote, git

BRANCH = "afresh/demo"
SIDE = "refs/afresh/team-a/demo/T001"
WORK = "echo hello > hello.txt"
NOTES = "cd .afresh/outbox; echo Found. > discovery.md; echo Better. > ideas.md; cd ../.."
FAILING = Verify(command=("false",))


def plan_of(remote: Remote) -> list[str]:
    return remote.file(BRANCH, ".afresh/PLAN.md").splitlines()[-2:]


def refuse_pushes_to(remote: Remote, ref: str) -> None:
    hook = remote.directory / "hooks/update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f'#!/bin/sh\ncase $1 in {ref}) echo "a protected branch" >&2; exit 1;; esac\n')
    hook.chmod(0o755)


def side_files(remote: Remote) -> list[str] | None:
    if not git(remote.directory, "for-each-ref", SIDE):
        return None
    return git(remote.directory, "ls-tree", "-r", "--name-only", SIDE).splitlines()


@pytest.mark.parametrize(
    ("script", "task", "want", "want_marker"),
    [
        pytest.param(
            f"{WORK}; echo 'Which key?' > .afresh/outbox/blocked.md",
            make_task(),
            Outcome.BLOCKED,
            "- [!] T001 Greeting",
            id="the agent is blocked",
        ),
        pytest.param(
            f"{WORK}; echo > other.txt",
            make_task(files=("hello.txt",)),
            Outcome.OUT_OF_SCOPE,
            "- [!] T001 Greeting",
            id="a file is out of scope",
        ),
        pytest.param(
            WORK,
            make_task(verify=FAILING, marker_on_failure=Marker.SKIPPED),
            Outcome.VERIFY_FAILED,
            "- [S] T001 Greeting",
            id="the last failure that is allowed",
        ),
        pytest.param(
            f"{WORK}; exit 3",
            make_task(marker_on_failure=Marker.SKIPPED),
            Outcome.AGENT_ERROR,
            "- [S] T001 Greeting",
            id="the last failure, of the agent itself",
        ),
    ],
)
def test_failure_that_ends_a_subtask_is_in_the_plan_on_the_branch_and_its_work_is_aside(
    pod: Pod, remote: Remote, script: str, task: Task, want: Outcome, want_marker: str
):
    report = pod.run(make_order(remote.url, f"{NOTES}; {script}", tasks=(task,)))

    assert pod.result.outcome is want, pod.log
    assert pod.result.warnings == ()
    assert plan_of(remote) == [want_marker, "- [ ] T002 Farewell"]
    assert report.head == remote.head(BRANCH)
    text = remote.file(BRANCH, ".afresh/PLAN.md") + "\n"
    assert report.plan_digest == plan_file.digest(text)
    assert "Found." in remote.file(BRANCH, ".afresh/DISCOVERY.md")
    assert "Better." in remote.file(BRANCH, ".afresh/IDEAS.md")
    assert "hello.txt" not in remote.files(BRANCH)
    assert "hello.txt" in (side_files(remote) or [])


def test_what_a_person_must_decide_is_among_the_discoveries(pod: Pod, remote: Remote):
    script = f"echo 'Which key\nsigns? {PASSWORD}' > .afresh/outbox/blocked.md"

    pod.run(make_order(remote.url, script))

    assert remote.file(BRANCH, ".afresh/DISCOVERY.md") == (
        "# Discovery\n\n## T001 Greeting\n\nA person must decide: Which key signs? [redacted]"
    )
    assert side_files(remote) is None


@pytest.mark.parametrize(
    ("script", "task"),
    [
        pytest.param(f"{WORK}; exit 3", make_task(), id="another try is left"),
        pytest.param(f"{WORK}; exit 3", make_task(verify=FAILING), id="verify is never reached"),
    ],
)
def test_failure_that_is_tried_once_more_leaves_the_branch_alone_and_keeps_the_work(
    pod: Pod, remote: Remote, script: str, task: Task
):
    pod.run(make_order(remote.url, script, tasks=(task,)))

    assert pod.result.outcome is Outcome.AGENT_ERROR, pod.log
    assert remote.head(BRANCH) is None
    assert "hello.txt" in (side_files(remote) or [])


def test_failure_without_changes_leaves_nothing_aside(pod: Pod, remote: Remote):
    pod.run(make_order(remote.url, "exit 3"))

    assert pod.result.outcome is Outcome.AGENT_ERROR
    assert side_files(remote) is None


def test_work_aside_is_removed_when_the_subtask_is_done(pod: Pod, remote: Remote):
    pod.run(make_order(remote.url, f"{WORK}; exit 3"))
    assert side_files(remote)
    second = Pod(pod.root.parent / "second")
    second.give_credentials(USERNAME, PASSWORD)

    second.run(make_order(remote.url, WORK, tasks=(make_task(has_work_aside=True),)))

    assert second.result.outcome is Outcome.SUCCESS, second.log
    assert second.result.warnings == ()
    assert side_files(remote) is None


def with_last_chance(remote: Remote) -> Order:
    task = make_task(marker_on_failure=Marker.SKIPPED)
    return make_order(remote.url, f"{WORK}; exit 3", tasks=(task,))


@pytest.mark.parametrize(
    ("refused", "want"),
    [
        pytest.param("refs/afresh/*", "The unfinished work is not kept", id="the side ref"),
        pytest.param(
            "refs/heads/*",
            "The plan on the branch does not show [S] for T001. The server of",
            id="the branch",
        ),
    ],
)
def test_server_that_refuses_what_comes_after_a_failure_costs_a_warning_and_no_outcome(
    pod: Pod, remote: Remote, refused: str, want: str
):
    refuse_pushes_to(remote, refused)

    pod.run(with_last_chance(remote))

    assert pod.result.outcome is Outcome.AGENT_ERROR, pod.log
    (warning,) = pod.result.warnings
    assert warning.startswith(want)
    assert PASSWORD not in warning
    assert (side_files(remote) is None) == (refused == "refs/afresh/*")
    assert (remote.head(BRANCH) is None) == (refused == "refs/heads/*")


def test_blocked_subtask_of_a_batch_keeps_the_done_one_in_the_plan(pod: Pod, remote: Remote):
    script = (
        "if [ -e hello.txt ]; then echo Why? > .afresh/outbox/blocked.md; "
        f"else {WORK}; echo First. > .afresh/outbox/discovery.md; fi"
    )
    tasks = (make_task(), make_task(id="T002", title="Farewell"))

    report = pod.run(make_order(remote.url, script, tasks=tasks))

    assert [item.outcome for item in report.results] == [Outcome.SUCCESS, Outcome.BLOCKED], pod.log
    assert plan_of(remote) == ["- [x] T001 Greeting", "- [!] T002 Farewell"]
    assert remote.subjects(BRANCH) == ["Plan", "T001: Greeting", "Add files"]
    assert remote.file(BRANCH, ".afresh/DISCOVERY.md").endswith(
        "First.\n\n## T002 Farewell\n\nA person must decide: Why?"
    )
    assert report.head == remote.head(BRANCH)


def test_runner_that_is_stopped_while_it_tidies_up_reports_the_outcome_that_was_decided(
    pod: Pod, remote: Remote
):
    seen, go_on = pod.root / "seen", pod.root / "go-on"
    hook = remote.directory / "hooks/update"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {seen}; while [ ! -e {go_on} ]; do sleep 0.02; done\n")
    hook.chmod(0o755)

    def terminate(started: Started) -> None:
        started.wait_for(seen.exists)
        started.terminate()
        started.wait_for(lambda: pod.report.final)
        go_on.touch()

    report = pod.run(with_last_chance(remote), terminate)

    assert [item.outcome for item in report.results] == [Outcome.AGENT_ERROR], pod.log
    assert pod.result.message.startswith("The agent program ended with exit code 3; ")

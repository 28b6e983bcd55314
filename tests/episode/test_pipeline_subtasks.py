"""What must not reach from an agent to verify, from subtask to subtask, or between revisions."""

from dataclasses import replace

from afresh.contract.order import Verify
from afresh.contract.words import Outcome
from tests.episode.pod import Pod, Started, make_order, make_task
from tests.episode.servers import PASSWORD, USERNAME, Remote
from tests.episode.test_pipeline import BRANCH, WAIT, batch, summary, tasks_for

THEIRS = "T002: Step 2\n\nAfresh-Package: team-a/demo\nAfresh-Subtask: T002\nAfresh-Revision: 0\n"
PLANT = """\
d=$(python3 -m site --user-site)
mkdir -p $d
printf 'import os\\nos._exit(0)\\n' > $d/usercustomize.py
chmod 555 $d"""


def test_what_one_acceptance_command_plants_decides_nothing_for_the_next(
    pod: Pod, remote: Remote
) -> None:
    first, second = tasks_for("echo a > a", "echo b > b")
    first = replace(first, verify=Verify(command=("sh", "-c", PLANT)))
    failing = ("python3", "-c", "raise SystemExit('the tests of T002 fail')")
    second = replace(second, verify=Verify(command=failing))

    report = pod.run(replace(batch(remote), tasks=(first, second)))

    outcomes = [result.outcome for result in report.results]
    assert outcomes == [Outcome.SUCCESS, Outcome.VERIFY_FAILED], summary(report.results)


def test_a_subtask_after_one_that_others_have_done_starts_from_their_work(
    pod: Pod, remote: Remote
) -> None:
    def push(started: Started) -> None:
        started.wait_for((pod.root / "home/agent/working").exists)
        remote.commit(BRANCH, {"b": "theirs\n"}, message=THEIRS)
        pod.put("/home/agent/go-on", "")

    report = pod.run(batch(remote, "echo a > a", f"echo mine > bb; {WAIT}", "ls > c"), push)

    assert [result.outcome for result in report.results] == [Outcome.SUCCESS] * 3, pod.log
    assert "b" in remote.file(BRANCH, "c").split()


def test_the_brief_of_a_raised_revision_does_not_say_that_its_work_is_done(
    pod: Pod, remote: Remote
) -> None:
    says = "echo a > a; echo 'There is a file a.' > .afresh/outbox/summary.md"
    pod.run(make_order(remote.url, says))
    again = Pod(pod.root.parent / "again")
    again.give_credentials(USERNAME, PASSWORD)

    again.run(make_order(remote.url, "cat > brief", tasks=(make_task(revision=1),)))

    assert again.result.outcome is Outcome.SUCCESS, again.log
    assert "is done" not in remote.file(BRANCH, "brief")


def test_what_one_acceptance_command_leaves_in_shared_memory_is_gone_for_the_next(
    pod: Pod, remote: Remote
) -> None:
    memory = pod.root / "verify-shm"
    first, second = tasks_for("echo a > a", "echo b > b")
    leaves = f"mkdir -p {memory}/d; touch {memory}/d/x {memory}/.hidden; chmod 0 {memory}/d"
    first = replace(first, verify=Verify(command=("sh", "-c", leaves)))
    second = replace(second, verify=Verify(command=("sh", "-c", f'test -z "$(ls -A {memory})"')))

    report = pod.run(replace(batch(remote), tasks=(first, second)))

    assert [result.outcome for result in report.results] == [Outcome.SUCCESS] * 2, pod.log

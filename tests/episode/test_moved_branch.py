"""What happens when somebody else pushes to the branch while an agent works."""

from collections.abc import Callable

import pytest

from afresh.contract.order import Verify
from afresh.contract.words import Outcome
from tests.episode.pod import Pod, Started, make_order, make_task
from tests.episode.servers import Remote, git

BRANCH = "afresh/demo"
WAIT = "touch $HOME/working; while [ ! -e $HOME/go-on ]; do sleep 0.02; done"
WORK = f"echo hello > hello.txt; echo Names. > .afresh/outbox/discovery.md; {WAIT}"
OTHER = "T002: Farewell\n\nAfresh-Package: team-a/demo\nAfresh-Subtask: T002\nAfresh-Revision: 0\n"
PLAN = "# Greet people.\n\nA remark.\n\n- [ ] T001 Greeting\n- [x] T002 Farewell\n"


def meanwhile(pod: Pod, act: Callable[[], object]) -> Callable[[Started], None]:
    """Act while the agent works, and let it go on."""

    def wait_and_act(started: Started) -> None:
        started.wait_for((pod.root / "home/agent/working").exists)
        act()
        pod.put("/home/agent/go-on", "")

    return wait_and_act


@pytest.mark.parametrize("branch_exists", [True, False], ids=["a branch", "no branch yet"])
def test_other_subtask_that_was_pushed_first_is_built_upon_and_both_are_verified_together(
    pod: Pod, remote: Remote, branch_exists: bool
):
    if branch_exists:
        remote.commit(BRANCH, {"old.txt": "x"}, base="main")
    theirs = {
        "bye.txt": "bye\n",
        ".afresh/PLAN.md": PLAN,
        ".afresh/DISCOVERY.md": "# Discovery\n\n## T002 Farewell\n\nTheirs.\n",
    }
    command = 'if [ -e bye.txt ]; then echo "both are here"; fi; test -e hello.txt'
    order = make_order(
        remote.url, WORK, tasks=(make_task(verify=Verify(command=("sh", "-c", command))),)
    )

    pod.run(
        order, meanwhile(pod, lambda: remote.commit(BRANCH, theirs, base="main", message=OTHER))
    )

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert pod.result.commit == remote.head(BRANCH)
    assert remote.subjects(BRANCH)[:2] == ["T001: Greeting", "T002: Farewell"]
    assert remote.file(BRANCH, "bye.txt") == "bye"
    assert remote.file(BRANCH, ".afresh/PLAN.md") + "\n" == PLAN.replace("- [ ]", "- [x]")
    assert remote.file(BRANCH, ".afresh/DISCOVERY.md").endswith(
        "Theirs.\n\n## T001 Greeting\n\nNames."
    )
    assert pod.result.verify
    assert pod.result.verify.tail == "both are here"


def test_contradicting_change_of_somebody_else_is_a_conflict_and_stays(pod: Pod, remote: Remote):
    remote.commit(BRANCH, {"hello.txt": "hi\n"}, base="main")

    pod.run(
        make_order(remote.url, WORK),
        meanwhile(pod, lambda: remote.commit(BRANCH, {"hello.txt": "salve\n"}, message="Latin")),
    )

    assert pod.result.outcome is Outcome.CONFLICT, pod.log
    assert pod.result.message == (
        'The work conflicts with what others pushed to the branch "afresh/demo" in hello.txt; it '
        "is done again on top of those changes."
    )
    assert pod.result.unpushed
    assert pod.result.unpushed.conflicts == ("hello.txt",)
    assert remote.file(BRANCH, "hello.txt") == "salve"


def test_parts_of_a_bare_repository_that_two_have_pushed_do_not_become_one(
    pod: Pod, remote: Remote
):
    work = f"mkdir b; echo ref: refs/heads/x > b/HEAD; {WAIT}"
    other = {"b/objects/x": "x", "b/refs/x": "x"}

    pod.run(
        make_order(remote.url, work),
        meanwhile(pod, lambda: remote.commit(BRANCH, other, base="main", message=OTHER)),
    )

    assert pod.result.outcome is Outcome.OUT_OF_SCOPE, pod.log
    assert pod.result.message.endswith(" Details: b")
    assert "b/HEAD" not in remote.files(BRANCH)


def test_only_the_files_that_both_have_changed_are_named(pod: Pod, remote: Remote):
    remote.commit(BRANCH, {"hello.txt": "hi\n", "a": "a"}, base="main")
    theirs = {"hello.txt": "salve\n", "a": "b", ".afresh/PLAN.md": PLAN}

    pod.run(
        make_order(remote.url, f"echo x > own.txt; {WORK}"),
        meanwhile(pod, lambda: remote.commit(BRANCH, theirs, message="Latin")),
    )

    assert pod.result.outcome is Outcome.CONFLICT, pod.log
    assert pod.result.unpushed
    assert pod.result.unpushed.conflicts == ("hello.txt",)


def test_changes_that_fail_verify_on_top_of_the_others_are_not_pushed(pod: Pod, remote: Remote):
    task = make_task(verify=Verify(command=("test", "!", "-e", "bye.txt")))

    pod.run(
        make_order(remote.url, WORK, tasks=(task,)),
        meanwhile(pod, lambda: remote.commit(BRANCH, {"bye.txt": "x"}, base="main", message=OTHER)),
    )

    assert pod.result.outcome is Outcome.VERIFY_FAILED, pod.log
    assert remote.subjects(BRANCH)[0] == "T002: Farewell"


def test_branch_that_was_rewritten_is_a_conflict(pod: Pod, remote: Remote):
    remote.commit(BRANCH, {"old.txt": "x"}, base="main")

    def rewrite() -> None:
        git(remote.directory, "update-ref", "-d", f"refs/heads/{BRANCH}")
        remote.commit(BRANCH, {"new.txt": "x"}, base="main", message="Rewritten")

    pod.run(make_order(remote.url, WORK), meanwhile(pod, rewrite))

    assert pod.result.outcome is Outcome.CONFLICT, pod.log
    assert remote.subjects(BRANCH)[0] == "Rewritten"


def test_same_subtask_that_was_finished_by_another_episode_is_success_with_that_commit(
    pod: Pod, remote: Remote
):
    message = OTHER.replace("T002", "T001")
    done: list[str] = []

    pod.run(
        make_order(remote.url, WORK),
        meanwhile(
            pod,
            lambda: done.append(
                remote.commit(BRANCH, {"hello.txt": "theirs"}, base="main", message=message)
            ),
        ),
    )

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert [pod.result.commit] == done == [remote.head(BRANCH)]

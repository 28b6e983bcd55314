"""A branch that carries another package's commits: whose are an obstacle, and whose are not."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from afresh.contract.words import Outcome
from afresh.episode.sync import run_sync
from tests.episode.lone_runner import BRANCH, LoneRunner, order_for
from tests.episode.pod import Pod, make_order
from tests.episode.servers import Remote, git

MESSAGE = "T009: Other\n\nAfresh-Package: {}\nAfresh-Subtask: T009\nAfresh-Revision: 0\n"
FOREIGN, OURS = MESSAGE.format("team-b/theirs"), MESSAGE.format("team-a/demo")
SIBLING = MESSAGE.format("team-a/other")
PLAN_ONLY = "Plan\n\nAfresh-Package: team-b/theirs\nAfresh-Plan: sha256:0\n"


def merge_theirs(remote: Remote) -> None:
    """A person merges another package's branch into ours."""
    remote.commit("theirs", {"b.txt": "b"}, base="main", message=FOREIGN)
    ours = remote.commit(BRANCH, {"a.txt": "a"}, base="main", message=OURS)
    tree = f"{ours}^{{tree}}"
    made = git(
        remote.directory, "commit-tree", tree, "-p", ours, "-p", str(remote.head("theirs")),
        "-m", "Merge theirs",
    )  # fmt: skip
    git(remote.directory, "update-ref", f"refs/heads/{BRANCH}", made)


def start_from_theirs(remote: Remote) -> None:
    """The base itself carries another package's commits."""
    remote.commit("main", {"b.txt": "b"}, message=FOREIGN)
    remote.commit(BRANCH, {"a.txt": "a"}, base="main", message=OURS)
    remote.commit("main", {"c.txt": "c"}, message=FOREIGN)


@pytest.mark.parametrize(
    "message", [FOREIGN, PLAN_ONLY], ids=["a finished subtask", "a plan"]
)  # fmt: skip
def test_branch_with_commits_of_another_namespace_stalls_without_naming_anybody(
    pod: Pod, remote: Remote, message: str
):
    remote.commit(BRANCH, {"a.txt": "a"}, base="main", message=message)
    before = remote.commit(BRANCH, {"b.txt": "b"}, message="Somebody's own")

    pod.run(make_order(remote.url, "echo hello > hello.txt"))

    assert pod.result.outcome is Outcome.BRANCH_IN_USE, pod.log
    assert "spec.repository.branch" in pod.result.message
    for text in (pod.result.message, pod.log):
        assert "team-b" not in text
        assert "theirs" not in text
    assert remote.head(BRANCH) == before


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(
            lambda remote: remote.commit(BRANCH, {"a": "a"}, base="main", message=OURS),
            id="a package of its name that was there before",
        ),
        pytest.param(
            lambda remote: remote.commit(BRANCH, {"a": "a"}, base="main", message=SIBLING),
            id="another package of the namespace",
        ),
        pytest.param(
            lambda remote: remote.commit(
                BRANCH, {"a": "a"}, base="main", message=f"{FOREIGN}\nAnd more text.\n"
            ),
            id="a text that names another package",
        ),
        pytest.param(merge_theirs, id="a person who merged another package's branch"),
        pytest.param(start_from_theirs, id="another package by way of the base"),
    ],
)
def test_branch_is_worked_on_when_the_commits_are_of(
    pod: Pod, remote: Remote, make: Callable[[Remote], object]
):
    make(remote)

    pod.run(make_order(remote.url, "echo hello > hello.txt"))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert remote.file(BRANCH, "hello.txt") == "hello"


def test_package_of_another_namespace_that_pushes_first_keeps_the_branch(pod: Pod, remote: Remote):
    def push_theirs() -> None:
        remote.commit(BRANCH, {"b.txt": "b"}, base="main", message=FOREIGN)

    wait = "touch $HOME/working; while [ ! -e $HOME/go-on ]; do sleep 0.02; done"

    def while_it_works(started: object) -> None:
        started.wait_for((pod.root / "home/agent/working").exists)  # type: ignore[attr-defined]
        push_theirs()
        pod.put("/home/agent/go-on", "")

    pod.run(make_order(remote.url, f"echo hello > hello.txt; {wait}"), while_it_works)

    assert pod.result.outcome is Outcome.BRANCH_IN_USE, pod.log
    assert remote.subjects(BRANCH)[0] == "T009: Other"


def test_sync_pushes_nothing_to_a_branch_of_another_namespace(tmp_path: Path, remote: Remote):
    before = remote.commit(BRANCH, {"b.txt": "b"}, base="main", message=FOREIGN)
    order = replace(order_for(remote), tasks=())
    runner = LoneRunner.create(tmp_path / "runner", order)

    result = run_sync(runner.context, runner.begin_fetch())

    assert result is not None
    assert result.outcome is Outcome.BRANCH_IN_USE
    assert remote.head(BRANCH) == before

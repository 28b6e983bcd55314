"""Commits that change the plan and nothing else."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from afresh.contract import plan_file
from afresh.contract.order import PlanLine
from afresh.contract.words import Marker, Outcome
from afresh.episode.git import plan_commit
from afresh.episode.git.plan_commit import MOST_TRIES, BranchPlan, PlanChange, push_plan
from afresh.episode.git.state_files import AgentNotes
from afresh.episode.stopped import SubtaskStopped
from tests.episode.lone_runner import (
    BRANCH,
    DONE,
    THEIRS,
    LoneRunner,
    blocked,
    changed,
    digest_of,
    elsewhere,
    give_hook,
    order_for,
    plan_of,
    push,
    refuse,
)
from tests.episode.servers import Remote, git


def test_plan_that_differs_is_committed_on_the_branch_and_nothing_else_changes(
    runner: LoneRunner, remote: Remote
):
    remote.commit(BRANCH, {"old.txt": "x", ".afresh/PLAN.md": THEIRS}, base="main")
    change = blocked(runner.order)

    standing = push(runner, change)

    assert standing == BranchPlan(head=remote.head(BRANCH), plan_digest=digest_of(remote))
    assert plan_of(remote) == change.text
    assert changed(remote) == [".afresh/PLAN.md"]
    assert remote.message(BRANCH).strip() == (
        f"Plan\n\nAfresh-Package: team-a/demo\nAfresh-Plan: {digest_of(remote)}\n"
        "Afresh-Marked: T001 [!]\nAfresh-Revision: 0"
    )


def test_branch_that_does_not_exist_is_made_from_the_base(runner: LoneRunner, remote: Remote):
    push(runner, blocked(runner.order, note="Which greeting?"))

    assert remote.subjects(BRANCH) == ["Plan", "Add files"]
    assert changed(remote) == [".afresh/DISCOVERY.md", ".afresh/PLAN.md"]
    assert "- [!] T001 Greeting\n" in plan_of(remote)


def test_branch_that_does_not_exist_is_made_even_where_the_base_has_the_same_plan(
    runner: LoneRunner, remote: Remote
):
    change = blocked(runner.order)
    remote.commit("main", {".afresh/PLAN.md": change.text})

    standing = push(runner, change)

    assert standing.head == remote.head(BRANCH)
    assert remote.subjects(BRANCH) == ["Plan", "Add files", "Add files"]


def test_plan_that_is_there_already_makes_no_commit(runner: LoneRunner, remote: Remote):
    change = blocked(runner.order)
    head = remote.commit(BRANCH, {".afresh/PLAN.md": change.text}, base="main")

    standing = push(runner, change)

    assert standing == BranchPlan(head=head, plan_digest=plan_file.digest(change.text))
    assert remote.head(BRANCH) == head


def test_notes_are_appended_to_those_on_the_branch(runner: LoneRunner, remote: Remote):
    old = "# Discovery\n\n## T002 Farewell\n\nTheirs.\n"
    remote.commit(BRANCH, {".afresh/DISCOVERY.md": old}, base="main")
    notes = AgentNotes(heading="T001 Greeting", discovery="Ours.", ideas="More.")

    push(runner, replace(blocked(runner.order), notes=notes))

    assert (
        remote.file(BRANCH, ".afresh/DISCOVERY.md") + "\n" == f"{old}\n## T001 Greeting\n\nOurs.\n"
    )
    assert remote.file(BRANCH, ".afresh/IDEAS.md") == "# Ideas\n\n## T001 Greeting\n\nMore."


def test_branch_that_moved_keeps_its_plan_with_one_line_changed_and_its_notes(
    runner: LoneRunner, remote: Remote
):
    remote.commit(BRANCH, {"old.txt": "x"}, base="main")
    start = runner.fetch()
    theirs = {".afresh/PLAN.md": THEIRS, ".afresh/DISCOVERY.md": "# Discovery\n\nTheirs.\n"}
    head = remote.commit(BRANCH, theirs, message=DONE)

    standing = push_plan(runner.git, runner.order, start, blocked(runner.order, note="Ours."))

    assert plan_of(remote) == THEIRS.replace("[ ] T001", "[!] T001")
    assert standing == BranchPlan(head=remote.head(BRANCH), plan_digest=digest_of(remote))
    assert git(remote.directory, "rev-parse", f"{BRANCH}~") == head
    assert remote.file(BRANCH, ".afresh/DISCOVERY.md") == (
        "# Discovery\n\nTheirs.\n\n## T001 Greeting\n\nOurs."
    )


@pytest.mark.parametrize(
    "theirs",
    [
        pytest.param({".afresh/PLAN.md": "# Another\n\n- [x] X1\n"}, id="a plan without the line"),
        pytest.param({"bye.txt": "bye"}, id="no plan"),
    ],
)
def test_branch_that_appeared_meanwhile_without_the_subtask_gets_the_given_plan(
    runner: LoneRunner, remote: Remote, theirs: dict[str, str]
):
    start = runner.fetch()
    remote.commit(BRANCH, theirs, base="main", message="Theirs")
    change = blocked(runner.order)

    push_plan(runner.git, runner.order, start, change)

    assert plan_of(remote) == change.text
    assert remote.subjects(BRANCH)[:2] == ["Plan", "Theirs"]


def test_branch_that_was_removed_meanwhile_is_made_again_for_a_subtask(
    runner: LoneRunner, remote: Remote
):
    remote.commit(BRANCH, {"old.txt": "x"}, base="main")
    start = runner.fetch()
    git(remote.directory, "update-ref", "-d", f"refs/heads/{BRANCH}")

    push_plan(runner.git, runner.order, start, blocked(runner.order))

    assert remote.subjects(BRANCH) == ["Plan", "Add files"]


def test_whole_plan_replaces_the_one_on_a_branch_that_moved(runner: LoneRunner, remote: Remote):
    remote.commit(BRANCH, {"old.txt": "x"}, base="main")
    start = runner.fetch()
    remote.commit(BRANCH, {".afresh/PLAN.md": THEIRS})
    whole = PlanChange(text="# Whole\n\n- [S] T001\n")

    push_plan(runner.git, runner.order, start, whole)

    assert plan_of(remote) == whole.text


def test_two_pushers_at_once_leave_both_lines_and_both_notes(tmp_path: Path, remote: Remote):
    order = order_for(remote)
    runners = [LoneRunner.create(tmp_path / name, order) for name in ("one", "other")]
    first = blocked(order, note="First.")
    second = PlanChange(
        text=first.text.replace("[!] T001", "[ ] T001").replace("[ ] T002", "[S] T002"),
        line=PlanLine(id="T002", title="Farewell", marker=Marker.SKIPPED),
        notes=AgentNotes(heading="T002 Farewell", discovery="Second."),
    )
    starts = [runner.fetch() for runner in runners]
    together = threading.Barrier(2, timeout=120)
    standings: list[BranchPlan] = []

    def work(runner: LoneRunner, index: int) -> None:
        together.wait()
        change = (first, second)[index]
        standings.append(push_plan(runner.git, order, starts[index], change))

    threads = [
        threading.Thread(target=work, args=(runner, index)) for index, runner in enumerate(runners)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert remote.subjects(BRANCH) == ["Plan", "Plan", "Add files"]
    assert "- [!] T001 Greeting\n- [S] T002 Farewell\n" in plan_of(remote)
    notes = remote.file(BRANCH, ".afresh/DISCOVERY.md")
    assert [notes.count("First."), notes.count("Second.")] == [1, 1]
    assert BranchPlan(head=remote.head(BRANCH), plan_digest=digest_of(remote)) in standings
    assert len(standings) == 2


def test_branch_that_moves_every_time_is_given_up_as_a_conflict(
    runner: LoneRunner, remote: Remote, tmp_path: Path
):
    remote.commit(BRANCH, {"old.txt": "x"}, base="main")
    free = "env -u GIT_QUARANTINE_PATH -u GIT_OBJECT_DIRECTORY"
    give_hook(
        remote,
        f"echo try >> {tmp_path}/tries; export GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=a@example.com "
        "GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=a@example.com\n"
        f'{free} git update-ref "$1" "$({free} git commit-tree -m Other -p "$2" "$2^{{tree}}")"',
    )

    with pytest.raises(SubtaskStopped) as ended:
        push(runner, blocked(runner.order))

    assert ended.value.outcome is Outcome.CONFLICT
    assert ended.value.message.startswith(f'The branch "{BRANCH}" was changed by someone else; ')
    assert len((tmp_path / "tries").read_text().split()) == MOST_TRIES
    assert set(remote.subjects(BRANCH)) == {"Other", "Add files"}


def test_server_that_refuses_the_branch_is_a_matter_of_configuration(
    runner: LoneRunner, remote: Remote
):
    refuse(remote, "refs/heads/*")

    with pytest.raises(SubtaskStopped) as ended:
        push(runner, blocked(runner.order))

    assert ended.value.outcome is Outcome.CONFIG
    assert "refuses to update branch" in ended.value.message
    assert remote.head(BRANCH) is None


def test_host_that_says_nothing_is_given_up_as_infrastructure(
    runner: LoneRunner, silent_port: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(plan_commit, "LIMIT_SECONDS", 0.5)
    start = runner.fetch()
    lost = elsewhere(runner, f"http://127.0.0.1:{silent_port}/x.git")

    with pytest.raises(SubtaskStopped) as ended:
        push_plan(lost.git, lost.order, start, blocked(lost.order))

    assert ended.value.outcome is Outcome.INFRASTRUCTURE
    assert f"http://127.0.0.1:{silent_port}/x.git cannot be reached" in ended.value.message


def test_trusted_repository_that_is_broken_is_infrastructure(runner: LoneRunner):
    start = replace(runner.fetch(), head="0" * 40)

    with pytest.raises(SubtaskStopped) as ended:
        push_plan(runner.git, runner.order, start, blocked(runner.order))

    assert ended.value.outcome is Outcome.INFRASTRUCTURE
    assert ended.value.message.startswith("The plan cannot be committed; another episode ")

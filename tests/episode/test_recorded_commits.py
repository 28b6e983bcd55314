"""What the Order has for done is in the repository, or the Report says which commit is not."""

from dataclasses import replace
from pathlib import Path

import pytest

from afresh.contract.order import PlanLine
from afresh.contract.report import REPORT_MAX_BYTES, Report, fit
from afresh.contract.words import Marker, Outcome
from afresh.episode.git.recorded_commits import MOST_REPORTED
from afresh.episode.sync import run_sync
from tests.episode.lone_runner import BRANCH, LoneRunner, order_for
from tests.episode.pod import Pod, make_order, make_task
from tests.episode.servers import Remote, git

NOWHERE = "0123456789" * 4
TRAILERS = "Afresh-Package: team-a/demo\nAfresh-Subtask: {}\nAfresh-Revision: {}\n"


def work_of(remote: Remote, name: str = "T001", branch: str = BRANCH, revision: int = 0) -> str:
    """Push what an episode of the package would."""
    message = f"{name}: Work\n\n{TRAILERS.format(name, revision)}"
    return remote.commit(branch, {f"{name}.txt": name}, base="main", message=message)


def done(commit: str, name: str = "T001", revision: int = 0) -> PlanLine:
    return PlanLine(id=name, title="", marker=Marker.DONE, revision=revision, commit=commit)


def sync(remote: Remote, root: Path, *lines: PlanLine) -> tuple[Report, Outcome | None]:
    order = replace(order_for(remote), tasks=(), plan=lines)
    runner = LoneRunner.create(root / "runner", order)
    result = run_sync(runner.context, runner.begin_fetch())
    return runner.end(), result.outcome if result else None


def test_commits_on_the_branch_are_found(remote: Remote, tmp_path: Path) -> None:
    first, second = work_of(remote), work_of(remote, "T002")

    report, outcome = sync(remote, tmp_path, done(first), done(second, "T002"))

    assert (report.missing, outcome) == ((), None)


@pytest.mark.parametrize("name", ["T001", "T009"], ids=["on a branch", "without a branch"])
def test_a_commit_that_is_nowhere_is_told_and_nothing_is_pushed(
    remote: Remote, tmp_path: Path, name: str
) -> None:
    good = work_of(remote, "T002") if name == "T001" else None
    lines = [done(NOWHERE, name), *([done(good, "T002")] if good else [])]

    report, outcome = sync(remote, tmp_path, *lines)

    assert (report.missing, outcome) == ((NOWHERE,), Outcome.CANCELLED)
    assert (report.head, report.plan_digest) == (None, None)
    assert remote.head(BRANCH) == good


def test_a_commit_of_anybodys_did_no_subtask(remote: Remote, tmp_path: Path) -> None:
    theirs = remote.head("main")
    assert theirs
    other = work_of(remote, "T002")

    report, _ = sync(remote, tmp_path, done(theirs), done(other, "T003"))

    assert report.missing == (theirs, other)


def test_work_of_an_earlier_revision_did_not_do_this_one(remote: Remote, tmp_path: Path) -> None:
    report, _ = sync(remote, tmp_path, done(work_of(remote), revision=0))
    later, _ = sync(remote, tmp_path / "later", done(NOWHERE, revision=1))

    assert report.missing == ()
    assert later.missing == (NOWHERE,)


def test_a_rebased_branch_has_its_subtasks_by_their_trailers(
    remote: Remote, tmp_path: Path
) -> None:
    before = work_of(remote)
    remote.commit("main", {"else.txt": "x"})
    git(remote.directory, "update-ref", "-d", f"refs/heads/{BRANCH}")
    after = work_of(remote)
    git(remote.directory, "gc", "--quiet", "--prune=now")

    report, outcome = sync(remote, tmp_path, done(before))

    assert before != after
    assert (report.missing, outcome) == ((), None)


def test_a_branch_that_was_merged_has_its_subtasks_in_the_base(
    remote: Remote, tmp_path: Path
) -> None:
    made = work_of(remote)
    git(remote.directory, "update-ref", "refs/heads/main", made)

    report, outcome = sync(remote, tmp_path, done(made))

    assert (report.missing, outcome) == ((), None)


def test_a_branch_that_was_squashed_and_deleted_is_not_held_against_its_package(
    remote: Remote, tmp_path: Path
) -> None:
    made = work_of(remote)
    remote.commit("main", {"T001.txt": "T001"}, message="Everything (#7)")
    git(remote.directory, "update-ref", "-d", f"refs/heads/{BRANCH}")

    report, outcome = sync(remote, tmp_path, done(made))

    assert (report.missing, outcome) == ((), None)


def test_what_is_no_hash_is_never_asked_for(remote: Remote, tmp_path: Path) -> None:
    work_of(remote)

    report, _ = sync(remote, tmp_path, done("refs/heads/main", "T002"))

    assert report.missing == ("refs/heads/main",)


def test_of_many_so_many_are_told_as_a_report_holds(remote: Remote, tmp_path: Path) -> None:
    good = work_of(remote, "T000")
    lines = [done(f"{number:040x}", f"T{number:03}") for number in range(1, 60)]

    report, _ = sync(remote, tmp_path, done(good, "T000"), *lines)

    assert report.missing == tuple(line.commit for line in lines[:MOST_REPORTED])
    assert len(fit(report).encode()) <= REPORT_MAX_BYTES


def test_a_remote_that_cannot_be_used_is_to_blame_itself(remote: Remote, tmp_path: Path) -> None:
    order = replace(order_for(remote), tasks=(), plan=(done(NOWHERE),))
    order = replace(order, repository=replace(order.repository, url="http://127.0.0.1:9/x.git"))
    runner = LoneRunner.create(tmp_path, order)

    result = run_sync(runner.context, runner.begin_fetch())

    assert result
    assert (result.outcome, runner.end().missing) == (Outcome.INFRASTRUCTURE, ())


def test_no_agent_starts_on_what_is_not_there(pod: Pod, remote: Remote) -> None:
    lines = (done(NOWHERE), PlanLine(id="T002", title="", marker=Marker.PENDING))
    script = "echo started >&2; false"
    order = replace(make_order(remote.url, script), tasks=(make_task(id="T002"),), plan=lines)

    report = pod.run(order)

    assert (report.missing, report.results[0].outcome) == ((NOWHERE,), Outcome.CANCELLED)
    assert "agentStarted" not in report.phases
    assert remote.head(BRANCH) is None

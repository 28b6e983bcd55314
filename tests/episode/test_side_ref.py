"""What becomes of a failed attempt's work: a side ref that people can look at."""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from afresh.episode.git import side_ref
from afresh.episode.git.fetching import BranchStart
from tests.episode.lone_runner import BRANCH, LoneRunner, elsewhere, order_for, over_ssh, refuse
from tests.episode.pod import Pod, make_order, make_task
from tests.episode.servers import Remote, git
from tests.episode.ssh_server import Sshd

REF = "refs/afresh/team-a/demo/T001"
TASK = make_task()


@pytest.fixture
def runner(tmp_path: Path, remote: Remote) -> LoneRunner:
    return LoneRunner.create(tmp_path / "runner", order_for(remote))


def work_of(runner: LoneRunner, content: str) -> str:
    """A tree with one file, as a snapshot would stage it."""
    blob = runner.git.store(content.encode())
    return runner.git.text("mktree", stdin=f"100644 blob {blob}\thello.txt\n".encode())


def keep(runner: LoneRunner, start: BranchStart, content: str) -> str | None:
    return side_ref.keep(runner.context, TASK, start.head, work_of(runner, content))


def refs(remote: Remote) -> list[str]:
    return git(remote.directory, "for-each-ref", "--format=%(refname)").splitlines()


def test_work_is_kept_on_the_side_ref_with_its_parent_and_without_trailers(
    runner: LoneRunner, remote: Remote
):
    remote.commit(BRANCH, {"old.txt": "x"}, base="main")
    start = runner.fetch()

    assert keep(runner, start, "hello") is None

    assert git(remote.directory, "show", f"{REF}:hello.txt") == "hello"
    assert git(remote.directory, "rev-parse", f"{REF}~") == start.head == remote.head(BRANCH)
    assert remote.message(REF).strip() == "Unfinished work"


def test_later_attempt_takes_the_place_of_the_one_before(runner: LoneRunner, remote: Remote):
    start = runner.fetch()

    assert keep(runner, start, "first") is None
    assert keep(runner, start, "second") is None

    assert git(remote.directory, "show", f"{REF}:hello.txt") == "second"
    assert git(remote.directory, "rev-parse", f"{REF}~") == start.head


def test_work_is_kept_on_its_parent_when_the_branch_has_moved_on(
    runner: LoneRunner, remote: Remote
):
    remote.commit(BRANCH, {"old.txt": "x"}, base="main")
    start = runner.fetch()
    remote.commit(BRANCH, {"new.txt": "x"})

    assert keep(runner, start, "hello") is None

    assert git(remote.directory, "rev-parse", f"{REF}~") == start.head


def test_branch_that_was_rewritten_costs_a_sentence_because_nothing_holds_the_parent(
    runner: LoneRunner, remote: Remote, capsys: pytest.CaptureFixture[str]
):
    remote.commit(BRANCH, {"old.txt": "x"}, base="main")
    start = runner.fetch()
    git(remote.directory, "update-ref", "-d", f"refs/heads/{BRANCH}")
    remote.commit(BRANCH, {"new.txt": "x"}, base="main", message="Rewritten")

    sentence = keep(runner, start, "hello")

    assert sentence == (
        f"The unfinished work is not kept. The server of {remote.url} refuses {REF}."
    )
    assert "shallow update not allowed" in capsys.readouterr().out


def test_removing_takes_the_side_ref_away_and_leaves_all_others(runner: LoneRunner, remote: Remote):
    keep(runner, runner.fetch(), "hello")
    git(remote.directory, "update-ref", "refs/afresh/team-a/demo/T002", "main")

    assert side_ref.remove(runner.context, TASK.id) is None

    assert refs(remote) == ["refs/afresh/team-a/demo/T002", "refs/heads/main"]


def test_removing_what_is_not_there_is_well(runner: LoneRunner, remote: Remote):
    runner.fetch()

    assert side_ref.remove(runner.context, TASK.id) is None
    assert refs(remote) == ["refs/heads/main"]


@pytest.mark.parametrize(
    ("refusal", "want_words"),
    [
        pytest.param(lambda remote: refuse(remote, "refs/afresh/*"), "protected", id="a hook"),
        pytest.param(
            lambda remote: git(remote.directory, "config", "receive.hideRefs", "refs/afresh"),
            "hidden ref",
            id="its configuration",
        ),
    ],
)
def test_host_that_refuses_the_ref_costs_a_sentence_and_the_log_has_its_words(
    runner: LoneRunner,
    remote: Remote,
    capsys: pytest.CaptureFixture[str],
    refusal: Callable[[Remote], object],
    want_words: str,
):
    start = runner.fetch()
    keep(runner, start, "hello")
    refusal(remote)
    want = f"The server of {remote.url} refuses {REF}."

    assert keep(runner, start, "again") == f"The unfinished work is not kept. {want}"
    assert side_ref.remove(runner.context, TASK.id) == f"The ref {REF} is not removed. {want}"

    assert git(remote.directory, "show", f"{REF}:hello.txt") == "hello"
    assert want_words in capsys.readouterr().out


def test_ref_in_the_way_of_the_side_ref_costs_a_sentence(runner: LoneRunner, remote: Remote):
    start = runner.fetch()
    git(remote.directory, "update-ref", "refs/afresh/team-a/demo", "main")

    sentence = keep(runner, start, "hello")

    assert sentence == (
        f"The unfinished work is not kept. The server of {remote.url} refuses {REF}."
    )


def test_host_that_says_nothing_costs_a_sentence_after_a_limit(
    runner: LoneRunner, silent_port: int, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(side_ref, "LIMIT_SECONDS", 0.5)
    start = runner.fetch()
    url = f"http://127.0.0.1:{silent_port}/x.git"
    want = (
        f"The repository {url} cannot be reached; "
        "check spec.repository.url of the WorkPackage and the network."
    )

    lost = elsewhere(runner, url)

    assert keep(lost, start, "hello") == f"The unfinished work is not kept. {want}"
    assert side_ref.remove(lost.context, TASK.id) == f"The ref {REF} is not removed. {want}"


def test_repository_that_is_gone_costs_a_sentence_without_its_password(
    runner: LoneRunner, remote: Remote
):
    start = runner.fetch()
    url = remote.url.replace("repository", "nothing")
    lost = elsewhere(runner, url.replace("http://", "http://ada:hidden-words@"))

    assert keep(lost, start, "hello") == (
        f"The unfinished work is not kept. The repository {url} is not found, or its credentials "
        "may not see it; correct spec.repository.secretName, or recreate the WorkPackage with "
        "another spec.repository.url."
    )


def test_trusted_repository_that_is_broken_costs_a_sentence(runner: LoneRunner):
    start = runner.fetch()
    shutil.rmtree(runner.git.git_dir / "objects")

    sentence = side_ref.keep(runner.context, TASK, start.head, "1" * 40)

    assert sentence == "The unfinished work is not kept. The log of the runner shows why."


@pytest.mark.parametrize(
    ("package", "subtask", "want"),
    [
        pytest.param("team-a/api.v1", "T1.2", "team-a/api.v1/T1.2", id="single dots stay"),
        pytest.param("team-a/api", "v1..2", "team-a/api/v1%2E%2E2", id="two dots"),
        pytest.param("team-a/api", "a...b", "team-a/api/a%2E%2E.b", id="three dots"),
        pytest.param("team-a/go.lock", "poetry.lock", "team-a/go%2Elock/poetry%2Elock", id="lock"),
        pytest.param("team-a/api", "a.lock.lock", "team-a/api/a.lock%2Elock", id="two locks"),
    ],
)
def test_side_ref_of_any_allowed_name_is_one_that_git_takes(
    runner: LoneRunner, remote: Remote, package: str, subtask: str, want: str
):
    start = runner.fetch()
    named = LoneRunner(replace(runner.context, order=replace(runner.order, package=package)))
    task = make_task(id=subtask)

    assert side_ref.keep(named.context, task, start.head, work_of(runner, "hello")) is None

    assert refs(remote) == [f"refs/afresh/{want}", "refs/heads/main"]
    assert side_ref.remove(named.context, task.id) is None
    assert refs(remote) == ["refs/heads/main"]


def test_next_attempt_starts_clean_from_the_branch(runner: LoneRunner, remote: Remote, pod: Pod):
    keep(runner, runner.fetch(), "unfinished")
    command = "test ! -e hello.txt && git for-each-ref > refs.txt"

    pod.run(make_order(remote.url, command))

    assert pod.result.commit == remote.head(BRANCH), pod.log
    assert "refs/afresh" not in remote.file(BRANCH, "refs.txt")
    assert REF in refs(remote)


def test_repository_behind_ssh_keeps_work_and_gives_it_up(
    tmp_path: Path, remote: Remote, sshd: Sshd
):
    runner = LoneRunner.create(tmp_path / "runner", *over_ssh(remote, sshd))
    start = runner.fetch()

    assert side_ref.remove(runner.context, TASK.id) is None
    assert keep(runner, start, "hello") is None
    assert git(remote.directory, "show", f"{REF}:hello.txt") == "hello"
    assert side_ref.remove(runner.context, TASK.id) is None
    assert refs(remote) == ["refs/heads/main"]

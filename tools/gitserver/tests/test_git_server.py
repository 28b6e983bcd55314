"""The git server, asked by the real git."""

import os
import secrets
from pathlib import Path

import pytest

from tests.server_process import TIMEOUT_SECONDS, Server, running, start
from tools.gitserver.tests.git_client import PASSWORD, USER, Checkout, clone, init, repository_url


def tracked_files(checkout: Checkout) -> dict[str, bytes]:
    names = checkout.git("ls-files").splitlines()
    return {name: (checkout.path / name).read_bytes() for name in names}


def test_a_first_start_serves_the_sample_project_on_main(
    git_server: Server, tmp_path: Path
) -> None:
    checkout = clone(repository_url(git_server), tmp_path / "clone")

    project = Path(__file__).parents[1] / "project"
    want = {
        str(path.relative_to(project)): path.read_bytes()
        for path in project.rglob("*")
        if path.is_file() and not {"__pycache__", ".mypy_cache", ".ruff_cache"} & set(path.parts)
    }
    assert tracked_files(checkout) == want
    assert checkout.git("branch", "--show-current") == "main"


def test_two_first_starts_make_the_same_commit(
    git_server: Server, git_arguments: tuple[str, ...], tmp_path: Path
) -> None:
    _, _, *files = git_arguments
    with running("tools.gitserver.git_server", "--root", str(tmp_path / "other"), *files) as other:
        heads = [
            Checkout(tmp_path).git("ls-remote", repository_url(server), "refs/heads/main")
            for server in (git_server, other)
        ]

    assert heads[0] == heads[1] != ""


def test_a_second_start_keeps_what_was_pushed(
    git_arguments: tuple[str, ...], tmp_path: Path
) -> None:
    with running("tools.gitserver.git_server", *git_arguments) as server:
        checkout = clone(repository_url(server), tmp_path / "clone")
        want = checkout.commit("note.txt", b"kept\n")
        checkout.git("push", "--quiet", "origin", "HEAD:refs/heads/kept")

    with running("tools.gitserver.git_server", *git_arguments) as server:
        found = Checkout(tmp_path).git("ls-remote", repository_url(server), "refs/heads/kept")

    assert found.split()[0] == want


def test_a_start_after_one_that_was_cut_off_makes_the_whole_repository(
    git_arguments: tuple[str, ...], tmp_path: Path
) -> None:
    draft = tmp_path / "repositories" / ".ledger.git.new"
    draft.mkdir(parents=True)
    (draft / "HEAD").write_text("ref: refs/heads/half\n")

    with running("tools.gitserver.git_server", *git_arguments) as server:
        checkout = clone(repository_url(server), tmp_path / "clone")

    assert (checkout.path / "README.md").exists()
    assert not draft.exists()


@pytest.mark.parametrize(
    ("ref", "want"),
    [
        pytest.param("refs/heads/afresh/token-auth", True, id="a branch is taken"),
        pytest.param("refs/afresh/team-a/token-auth/T001", True, id="a side ref is taken"),
        pytest.param("refs/tags/v1", False, id="a tag is refused"),
        pytest.param("refs/anything/else", False, id="any other ref is refused"),
    ],
)
def test_a_push_to_a_ref_is_taken_where_the_operator_writes(
    git_server: Server, tmp_path: Path, ref: str, want: bool
) -> None:
    checkout = clone(repository_url(git_server), tmp_path / "clone")
    commit = checkout.commit("note.txt", b"new\n")

    pushed = checkout.try_git("push", "origin", f"HEAD:{ref}")
    found = checkout.git("ls-remote", "origin", ref)

    assert (pushed.returncode == 0) == want, pushed.stderr
    assert found == (f"{commit}\t{ref}" if want else "")


def test_a_side_ref_that_is_deleted_is_gone(git_server: Server, tmp_path: Path) -> None:
    checkout = clone(repository_url(git_server), tmp_path / "clone")
    ref = "refs/afresh/team-a/token-auth/T001"
    checkout.git("push", "--quiet", "origin", f"HEAD:{ref}")

    checkout.git("push", "--quiet", "origin", f":{ref}")

    assert checkout.git("ls-remote", "origin", ref) == ""


def test_a_fetch_that_excludes_main_brings_only_the_branch_s_own_commits(
    git_server: Server, tmp_path: Path
) -> None:
    author = clone(repository_url(git_server), tmp_path / "author")
    author.commit("on-main.txt", b"main\n")
    author.git("push", "--quiet", "origin", "HEAD:refs/heads/main")
    want = [author.commit(name, b"branch\n") for name in ("one.txt", "two.txt")]
    author.git("push", "--quiet", "origin", "HEAD:refs/heads/work")

    reader = init(tmp_path / "reader")
    url = repository_url(git_server)
    reader.git("fetch", "--quiet", "--shallow-exclude=main", url, "refs/heads/work")

    assert reader.git("rev-list", "FETCH_HEAD").splitlines() == want[::-1]


def test_a_commit_that_no_ref_leads_to_cannot_be_fetched(
    git_server: Server, tmp_path: Path
) -> None:
    author = clone(repository_url(git_server), tmp_path / "author")
    dropped = author.commit("dropped.txt", b"dropped\n")
    author.git("push", "--quiet", "origin", "HEAD:refs/heads/work")
    author.git("push", "--quiet", "origin", ":refs/heads/work")

    reader = init(tmp_path / "reader")
    fetched = reader.try_git(
        "-c", "protocol.version=0", "fetch", repository_url(git_server), dropped
    )

    assert fetched.returncode != 0
    assert "unadvertised object" in fetched.stderr


def test_a_large_push_arrives_whole_and_is_never_whole_in_memory(
    git_server: Server, tmp_path: Path
) -> None:
    size = 24 * 1024 * 1024
    content = secrets.token_bytes(size)
    author = clone(repository_url(git_server), tmp_path / "author")
    want = author.commit("large.bin", content)
    before = git_server.peak_memory_bytes()

    author.git("push", "--quiet", "origin", "HEAD:refs/heads/large")
    reader = init(tmp_path / "reader")
    reader.git("fetch", "--quiet", "--depth=1", repository_url(git_server), "large")

    assert reader.git("rev-parse", "FETCH_HEAD") == want
    reader.git("checkout", "--quiet", "FETCH_HEAD")
    assert (reader.path / "large.bin").read_bytes() == content
    assert git_server.peak_memory_bytes() - before < size / 3


def test_two_pushes_at_once_from_one_head_end_with_one_winner(
    git_server: Server, tmp_path: Path
) -> None:
    authors = [clone(repository_url(git_server), tmp_path / name) for name in ("first", "second")]
    commits = [author.commit("note.txt", secrets.token_bytes(300_000)) for author in authors]

    pushes = [author.start_git("push", "origin", "HEAD:refs/heads/main") for author in authors]
    errors = [push.communicate(timeout=TIMEOUT_SECONDS)[1] for push in pushes]

    codes = [push.returncode for push in pushes]
    assert sorted(code == 0 for code in codes) == [False, True], errors
    winner, loser = (0, 1) if codes[0] == 0 else (1, 0)
    assert "rejected" in errors[loser]
    assert authors[loser].git("ls-remote", "origin", "main").split()[0] == commits[winner]


def test_a_clone_with_a_wrong_password_fails_to_authenticate(
    git_server: Server, tmp_path: Path
) -> None:
    url = repository_url(git_server, password="wrong")

    cloned = Checkout(tmp_path).try_git("clone", url, "clone")

    assert cloned.returncode != 0
    assert "Authentication failed" in cloned.stderr


def test_a_clone_of_an_unknown_repository_is_not_found(git_server: Server, tmp_path: Path) -> None:
    cloned = Checkout(tmp_path).try_git("clone", repository_url(git_server, "other.git"), "clone")

    assert cloned.returncode != 0
    assert "not found" in cloned.stderr


def test_a_password_that_is_rotated_counts_at_once(git_server: Server, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("another one")

    refused = Checkout(tmp_path).try_git("ls-remote", repository_url(git_server))
    taken = Checkout(tmp_path).try_git(
        "ls-remote", repository_url(git_server, password="another one")
    )

    assert (refused.returncode == 0, taken.returncode == 0) == (False, True)


def test_a_repository_that_is_put_into_the_root_is_served(
    git_server: Server, tmp_path: Path
) -> None:
    root = Checkout(tmp_path / "repositories")
    root.git("clone", "--quiet", "--bare", "ledger.git", "copy.git")

    found = Checkout(tmp_path).git("ls-remote", repository_url(git_server, "copy.git"), "main")

    assert found.endswith("refs/heads/main")


def test_the_log_holds_neither_the_user_name_nor_the_password(
    git_arguments: tuple[str, ...], tmp_path: Path
) -> None:
    with running("tools.gitserver.git_server", *git_arguments) as server:
        clone(repository_url(server), tmp_path / "clone")

    log = "".join(server.log)
    assert "GET /ledger.git/info/refs 200" in log
    assert PASSWORD not in log
    assert USER not in log


def test_a_missing_secret_ends_the_start_with_one_sentence_that_names_it(
    git_arguments: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "password").unlink()

    with start("tools.gitserver.git_server", *git_arguments) as process:
        said, _ = process.communicate(timeout=TIMEOUT_SECONDS)

    want = f"git_server: {tmp_path / 'password'}: No such file or directory{os.linesep}"
    assert (process.returncode, said) == (1, want)

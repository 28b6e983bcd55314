"""What agents left on a branch, read by the real git from real repositories."""

import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from afresh.cli.report.branch_files import MAX_BYTES, Notes, _reason, read_notes

BRANCH = "afresh/token-auth"
URL = "https://git.example.com/team/api.git"


class Branch:
    """A repository whose branch is found under URL by the git configuration of the process."""

    def __init__(self, root: Path) -> None:
        self._path = root / "api.git"
        self._path.mkdir()
        self._git("init", "--quiet", f"--initial-branch={BRANCH}")
        self._git("commit", "--quiet", "--allow-empty", "-m", "first")

    def holds(self, files: dict[str, str | Path]) -> None:
        """Commit files, and symlinks where a path is given."""
        for name, content in files.items():
            path = self._path / name
            path.parent.mkdir(exist_ok=True)
            if isinstance(content, Path):
                path.symlink_to(content)
            else:
                path.write_text(content)
        self._git("add", ".")
        self._git("commit", "--quiet", "-m", "notes")

    def _git(self, *arguments: str) -> None:
        identity = {
            f"GIT_{who}_{what}": "a@example.com"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        environment = os.environ | identity | {"GIT_CONFIG_GLOBAL": os.devnull}
        subprocess.run(["git", *arguments], cwd=self._path, env=environment, check=True)


@pytest.fixture
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's git configuration."""
    path = tmp_path / "gitconfig"
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(path))
    return path


@pytest.fixture
def branch(tmp_path: Path, config: Path) -> Branch:
    config.write_text(f'[url "file://{tmp_path}/"]\n\tinsteadOf = https://git.example.com/team/\n')
    return Branch(tmp_path)


@pytest.fixture
def silent_server() -> Iterator[str]:
    """The address of a server that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/api.git"


@pytest.fixture
def server_that_asks() -> Iterator[str]:
    """The address of a server that wants a password."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = threading.Thread(target=_ask_for_a_password, args=(listener,))
        done.start()
        yield f"http://someone:hunter2@127.0.0.1:{listener.getsockname()[1]}/api.git"
        listener.shutdown(socket.SHUT_RDWR)
        done.join(10)


def _ask_for_a_password(listener: socket.socket) -> None:
    answer = (
        b"HTTP/1.1 401 No\r\nWWW-Authenticate: Basic\r\nContent-Length: 0\r\n"
        b"Connection: close\r\n\r\n"
    )
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            connection.recv(65536)
            connection.sendall(answer)


def test_notes_at_the_head_of_the_branch_are_read(branch: Branch):
    branch.holds({".afresh/DISCOVERY.md": "old\n"})
    branch.holds({".afresh/DISCOVERY.md": "# Discovery\n", ".afresh/IDEAS.md": "# Ideas\n"})

    assert read_notes(URL, BRANCH) == Notes(discovery="# Discovery\n", ideas="# Ideas\n")


def test_branch_without_notes_has_empty_ones(branch: Branch):
    branch.holds({".afresh/PLAN.md": "# Plan\n", ".afresh/IDEAS.md": "# Ideas\n"})

    assert read_notes(URL, BRANCH) == Notes(ideas="# Ideas\n")


def test_note_that_is_a_symlink_is_not_followed(branch: Branch):
    branch.holds({".afresh/DISCOVERY.md": Path("/etc/hostname")})

    assert read_notes(URL, BRANCH) == Notes()


def test_note_that_is_too_long_is_named(branch: Branch):
    branch.holds({".afresh/IDEAS.md": "x" * (MAX_BYTES + 1)})

    assert "IDEAS.md is over 256 KiB" in read_notes(URL, BRANCH).problem


def test_branch_that_is_not_there_is_told_in_gits_words(branch: Branch):
    notes = read_notes(URL, "afresh/other")

    assert "git says: " in notes.problem
    assert "Remote branch afresh/other not found in upstream origin" in notes.problem


def test_git_that_is_run_inside_another_repository_reads_the_right_one(
    branch: Branch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    branch.holds({".afresh/IDEAS.md": "# Ideas\n"})
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))

    assert read_notes(URL, BRANCH) == Notes(ideas="# Ideas\n")


def test_url_that_is_a_command_is_not_run_even_where_the_user_allows_it(
    tmp_path: Path, config: Path
):
    made = tmp_path / "made"
    config.write_text('[protocol "ext"]\n\tallow = always\n')

    notes = read_notes(f"ext::touch {made}", BRANCH)

    assert "transport 'ext' not allowed" in notes.problem
    assert not made.exists()


def test_server_that_wants_a_password_is_answered_with_none_and_none_is_told(
    server_that_asks: str, config: Path
):
    problem = read_notes(server_that_asks, BRANCH).problem

    assert "fatal: " in problem
    assert "hunter2" not in problem
    assert "someone" not in problem


def test_credentials_in_what_an_older_git_says_are_left_out():
    said = b"Cloning ...\nfatal: unable to access 'https://someone:hunter2@example.com/api.git/'\n"

    assert _reason(said) == "fatal: unable to access 'https://...@example.com/api.git/'"


def test_server_that_never_answers_is_waited_for_no_longer_than_allowed(
    silent_server: str, config: Path
):
    notes = read_notes(silent_server, BRANCH, seconds=1)

    assert "git got no answer within 1 seconds" in notes.problem


def test_missing_git_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("PATH", str(tmp_path))

    assert "git cannot be run: No such file or directory" in read_notes(URL, BRANCH).problem

"""The git server as a fixture: one for each test."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.server_process import Server, running
from tools.gitserver.tests.git_client import PASSWORD, USER


@pytest.fixture
def git_arguments(tmp_path: Path) -> tuple[str, ...]:
    """Arguments of a git server whose secrets are `USER` and `PASSWORD`."""
    username_file, password_file = tmp_path / "username", tmp_path / "password"
    username_file.write_text(f"{USER}\n")
    password_file.write_text(f"{PASSWORD}\n")
    files = ("--username-file", str(username_file), "--password-file", str(password_file))
    return ("--root", str(tmp_path / "repositories"), *files)


@pytest.fixture
def git_server(git_arguments: tuple[str, ...]) -> Iterator[Server]:
    with running("tools.gitserver.git_server", *git_arguments) as server:
        yield server

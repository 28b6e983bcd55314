"""The demo's servers as fixtures: one git server for each test, one model server for all."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.demo.git_client import PASSWORD, USER
from tests.demo.model_client import KEY
from tests.demo.servers import Server, running


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
    with running("git_server.py", *git_arguments) as server:
        yield server


@pytest.fixture(scope="session")
def model_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A model server without delay, whose key is `KEY`."""
    key_file = tmp_path_factory.mktemp("model") / "api-key"
    key_file.write_text(f"{KEY}\n")
    with running("model_server.py", "--api-key-file", str(key_file), "--delay", "0") as server:
        yield server

"""A git server for all tests of the runner, and for each test a repository and a pod."""

import socket
from collections.abc import Iterator
from contextlib import closing
from itertools import count
from pathlib import Path

import pytest

from afresh.episode.stage import UNDECLARED
from tests.episode.authority import make_authority
from tests.episode.container import container, shell, start_shim  # noqa: F401  # fixtures
from tests.episode.linking import library  # noqa: F401  # a fixture
from tests.episode.lone_runner import LoneRunner, order_for
from tests.episode.matrix import KEY
from tests.episode.pod import Pod, require_namespaces
from tests.episode.servers import PASSWORD, USERNAME, Remote, serving, serving_git
from tests.episode.ssh_server import sshd  # noqa: F401  # a fixture

NUMBERS = count()


@pytest.fixture(scope="session")
def git_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("repositories")


@pytest.fixture(scope="session")
def git_port(git_root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with serving_git(git_root, tmp_path_factory.mktemp("git-server")) as port:
        yield port


@pytest.fixture(scope="session")
def model_port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a scripted model that takes `matrix.KEY`."""
    folder = tmp_path_factory.mktemp("model-server")
    (folder / "api-key").write_text(KEY)
    arguments = ("--api-key-file", str(folder / "api-key"), "--delay", "0")
    with serving("tools.fakemodel.model_server", *arguments, log=folder / "log") as port:
        yield port


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture
def remote(git_root: Path, git_port: int) -> Remote:
    made = Remote.create(git_root, f"repository-{next(NUMBERS)}", git_port)
    made.commit("main", {"README.md": "A sample.\n", "AGENTS.md": "Be brief.\n"})
    return made


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    require_namespaces()
    made = Pod(tmp_path / "pod")
    made.give_credentials(USERNAME, PASSWORD)
    return made


@pytest.fixture
def silent_port() -> Iterator[int]:
    """The port of a server that takes connections and says nothing."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        yield server.getsockname()[1]


@pytest.fixture
def runner(
    tmp_path: Path, remote: Remote, capsys: pytest.CaptureFixture[str]
) -> Iterator[LoneRunner]:
    """The runner's own half of an episode, on the remote."""
    yield LoneRunner.create(tmp_path / "runner", order_for(remote))
    assert UNDECLARED not in capsys.readouterr().out

"""What several tests of local packages need."""

import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.local.clones import make_clone
from tests.local.worlds import Agents, World, wait_for


@pytest.fixture
def agents() -> Iterator[Agents]:
    found = Agents()
    thread = threading.Thread(target=found.listen)
    thread.start()
    yield found
    found.server.shutdown(socket.SHUT_RDWR)
    thread.join()
    for open_one in (found.server, *found.connections):
        open_one.close()


@pytest.fixture
def world(tmp_path: Path, agents: Agents, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    with World(make_clone(tmp_path / "clone"), tmp_path / "state", agents).closed() as found:
        yield found
    wait_for(lambda: not found.left())

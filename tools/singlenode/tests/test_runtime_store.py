import socket
from pathlib import Path

import pytest

from tools.singlenode import runtime_store

_BLOB = "io.containerd.content.v1.content/blobs/sha256/abc"
_LAYER = "io.containerd.snapshotter.v1.overlayfs/snapshots/1/fs/data.db"
_DATABASES = (
    "io.containerd.metadata.v1.bolt/meta.db",
    "io.containerd.snapshotter.v1.overlayfs/metadata.db",
)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    root = tmp_path / "store"
    for name in (_BLOB, _LAYER, *_DATABASES):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return root


def test_a_clone_shares_what_is_never_changed(store: Path, tmp_path: Path) -> None:
    assert runtime_store.clone(store, tmp_path / "clone")

    for name in (_BLOB, _LAYER):
        assert (store / name).samefile(tmp_path / "clone" / name)


def test_a_clone_owns_its_databases(store: Path, tmp_path: Path) -> None:
    runtime_store.clone(store, tmp_path / "clone")

    for name in _DATABASES:
        (tmp_path / "clone" / name).write_text("changed")

        assert (store / name).read_text() == name


@pytest.mark.parametrize("missing", _DATABASES)
def test_a_store_that_is_not_whole_is_not_cloned(store: Path, tmp_path: Path, missing: str) -> None:
    (store / missing).unlink()

    assert not runtime_store.clone(store, tmp_path / "clone")
    assert not (tmp_path / "clone").exists()


def test_a_store_that_is_not_there_is_not_cloned(tmp_path: Path) -> None:
    assert not runtime_store.clone(tmp_path / "store", tmp_path / "clone")
    assert not (tmp_path / "clone").exists()


def test_a_socket_answers_while_somebody_listens(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    before = runtime_store.answers(path)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))
        listener.listen()
        during = runtime_store.answers(path)

    assert (before, during, runtime_store.answers(path)) == (False, True, False)

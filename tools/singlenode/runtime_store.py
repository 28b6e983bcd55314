"""A containerd store with all images, which is prepared once and cloned for each new cluster.

Unpacking images takes many seconds; cloning a store takes a fraction of a second. Files that
containerd never changes (layers, blobs) are linked, and only its two databases are copied.
Must not know what the images are.
"""

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tools.singlenode import packages
from tools.singlenode.containerd_client import ContainerdClient, archive_identity
from tools.singlenode.errors import ClusterError

_DATABASES = (
    "io.containerd.metadata.v1.bolt/meta.db",
    "io.containerd.snapshotter.v1.overlayfs/metadata.db",
)
_START_SECONDS = 120
_STOP_SECONDS = 20


def is_prepared(store: Path, archives: Sequence[Path]) -> bool:
    """Return whether `store` has exactly the images of these archives."""
    mark = _mark(store)
    return store.exists() and mark.exists() and mark.read_text() == _contents(archives)


def prepare(store: Path, archives: Sequence[Path]) -> None:
    """Fill `store` with the images of these archives."""
    with tempfile.TemporaryDirectory(prefix=".containerd-", dir=store.parent) as scratch:
        fresh = Path(scratch) / "root"
        # Images that it has already are not unpacked again.
        clone(store, fresh)
        with _containerd(fresh, log=Path(scratch) / "log") as client:
            for archive in archives:
                client.ensure_image(archive)
        _mark(store).unlink(missing_ok=True)
        # A cluster that clones between the two renames finds no store, and imports the images.
        if store.exists():
            store.rename(Path(scratch) / "old")
        fresh.rename(store)
        _mark(store).write_text(_contents(archives))


def clone(store: Path, root: Path) -> bool:
    """Clone `store` to `root`; return False, without a `root`, if that is not possible."""
    if not store.exists():
        return False
    command = ["cp", "--archive", "--link", str(store), str(root)]
    linked = subprocess.run(command, capture_output=True, check=False).returncode == 0
    if not linked or not _own_databases(store, root):
        # Another file system, or a store that is being replaced at this moment.
        shutil.rmtree(root, ignore_errors=True)
        return False
    return True


def answers(path: Path) -> bool:
    """Return whether a program listens on the Unix socket `path`."""
    with socket.socket(socket.AF_UNIX) as client:
        try:
            client.connect(str(path))
        except OSError:
            return False
    return True


def _mark(store: Path) -> Path:
    return store.with_suffix(".contents")


def _contents(archives: Sequence[Path]) -> str:
    return "\n".join(archive_identity(archive) for archive in archives)


def _own_databases(store: Path, root: Path) -> bool:
    try:
        for database in _DATABASES:
            (root / database).unlink()
            shutil.copy2(store / database, root / database)
    except FileNotFoundError:
        return False
    return True


@contextmanager
def _containerd(root: Path, *, log: Path) -> Iterator[ContainerdClient]:
    """Run a containerd that only keeps images, until the block ends."""
    with tempfile.TemporaryDirectory(prefix="afresh-") as place, log.open("w") as sink:
        client = ContainerdClient(Path(place) / "containerd.sock")
        config = Path(place) / "config.toml"
        config.write_text(
            f'version = 2\nroot = "{root}"\nstate = "{place}/state"\n'
            f'disabled_plugins = ["io.containerd.grpc.v1.cri"]\n'
            f'[grpc]\n  address = "{client.address}"\n'
            f'[plugins."io.containerd.internal.v1.opt"]\n  path = "{place}/opt"\n'
        )
        program = str(packages.find_program("containerd"))
        # If it ends, its mounts disappear with its namespace.
        command = ["unshare", "--mount", "--", program, "--config", str(config)]
        process = subprocess.Popen(command, stdout=sink, stderr=subprocess.STDOUT)
        try:
            _await_answer(process, client.address)
            yield client
        finally:
            process.terminate()
            process.wait(_STOP_SECONDS)


def _await_answer(process: "subprocess.Popen[bytes]", address: Path) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while not answers(address):
        if process.poll() is not None or time.monotonic() > deadline:
            raise ClusterError("containerd does not start: try `containerd --version`")
        time.sleep(0.05)

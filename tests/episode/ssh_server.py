"""A real sshd on loopback, which lets in the holder of one key as the user who runs the tests."""

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.episode.pod import wait_until

PRIVILEGE_SEPARATION = Path("/run/sshd")


@dataclass(frozen=True)
class Sshd:
    """Where it listens, what a client needs, and a folder of programs for who is let in."""

    user: str
    port: int
    client_key: str
    known_hosts: str
    programs: Path


def make_key(path: Path) -> str:
    command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(path)]
    subprocess.run(command, check=True, timeout=120)
    return path.with_suffix(".pub").read_text()


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    program = shutil.which("sshd", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("needs sshd")
    folder = tmp_path_factory.mktemp("sshd")
    host_key = make_key(folder / "host")
    (folder / "authorized").write_text(make_key(folder / "client"))
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    (folder / "config").write_text(
        f"Port {port}\nListenAddress 127.0.0.1\nHostKey {folder}/host\nPidFile none\n"
        f"AuthorizedKeysFile {folder}/authorized\nStrictModes no\nUsePAM no\n"
        "PasswordAuthentication no\nPermitRootLogin yes\n"
        f"SetEnv PATH={folder}/bin:/usr/bin:/bin\n"
    )
    if os.geteuid() == 0:
        # It stays: tests beside these may need it.
        PRIVILEGE_SEPARATION.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [program, "-D", "-e", "-f", str(folder / "config")],
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: listens(port))
        client_key = (folder / "client").read_text()
        user = pwd.getpwuid(os.geteuid()).pw_name
        yield Sshd(user, port, client_key, f"[127.0.0.1]:{port} {host_key}", folder / "bin")
    finally:
        process.terminate()
        process.wait(timeout=120)


def listens(port: int) -> bool:
    with closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0

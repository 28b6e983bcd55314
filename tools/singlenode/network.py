"""The network namespace of one node. No route leads outside.

Must not know what runs in it.
"""

import ctypes
import os
import subprocess
from pathlib import Path

from tools.singlenode.errors import ClusterError

NODE_ADDRESS = "10.99.0.1"
POD_SUBNET = "10.98.0.0/16"
SERVICE_SUBNET = "10.96.0.0/16"
# The first address of the service subnet, which Kubernetes gives to its own API server.
API_SERVICE_ADDRESS = "10.96.0.1"
DNS_SERVICE_ADDRESS = "10.96.0.10"

_DIRECTORY = Path("/run/netns")
_CLONE_NEWNET = 0x40000000

# The node's address needs a link that is up, and the kubelet a default route. Both ends of the pair
# stay in the namespace, so the route ends there.
_SETUP = f"""
link set lo up
link add name node0 type veth peer name node0p
link set node0p up
addr add {NODE_ADDRESS}/24 dev node0
link set node0 up
route add default via 10.99.0.2 dev node0
"""


def path(name: str) -> Path:
    """The file on which the namespace is mounted."""
    return _DIRECTORY / name


def create(name: str) -> None:
    """Create the namespace, with loopback and the node's address."""
    _DIRECTORY.mkdir(exist_ok=True)
    path(name).touch()
    # Not "ip netns add", which makes the whole directory a mount that is never removed.
    _run(["unshare", f"--net={path(name)}", "true"])
    _run(["ip", "-netns", name, "-batch", "-"], stdin=_SETUP)


def delete(name: str) -> None:
    """Remove the namespace with all its interfaces, if it exists."""
    if not path(name).exists():
        return
    # A namespace is mounted over the file. Crashes may have left more than one.
    while path(name).stat().st_dev != _DIRECTORY.stat().st_dev:
        _run(["umount", "--lazy", str(path(name))])
    path(name).unlink()


def enter(name: str) -> None:
    """Move this thread, and processes that it starts later, into the namespace."""
    libc = ctypes.CDLL(None, use_errno=True)
    descriptor = os.open(path(name), os.O_RDONLY)
    try:
        # Python has os.setns only from 3.12 on.
        if libc.setns(descriptor, _CLONE_NEWNET) != 0:
            reason = os.strerror(ctypes.get_errno())
            raise ClusterError(f"cannot enter the network namespace {name}: {reason}; run as root")
    finally:
        os.close(descriptor)


def can_create() -> bool:
    """Return whether the interfaces of a node can be created, by a test in a new namespace."""
    attempt = (
        "ip link add name left type veth peer name right && ip link add name bridge0 type bridge"
    )
    try:
        result = subprocess.run(
            ["unshare", "--net", "--", "sh", "-c", attempt], capture_output=True, check=False
        )
    except FileNotFoundError:
        return False
    return result.returncode == 0


def _run(command: list[str], *, stdin: str = "") -> None:
    result = subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        why = result.stderr.strip().replace("\n", "; ")
        raise ClusterError(f"{' '.join(command)} failed: {why}")

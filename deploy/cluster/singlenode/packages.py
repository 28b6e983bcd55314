"""What a node needs from Debian. Must not know how it is used."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from singlenode import progress
from singlenode.errors import ClusterError
from singlenode.paths import cache_home

# Package -> what shows that it, or another package with the same programs, is there.
_PROBES: dict[str, tuple[str, ...]] = {
    "containerd": ("containerd", "ctr"),
    "runc": ("runc",),
    "iptables": ("iptables",),
    "conntrack": ("conntrack",),
    "iproute2": ("ip",),
    "util-linux": ("nsenter", "unshare"),
    "mount": ("mount", "umount"),
    "openssl": ("openssl",),
    "buildah": ("buildah",),
    "mmdebstrap": ("mmdebstrap",),
    "debian-archive-keyring": ("/usr/share/keyrings/debian-archive-keyring.gpg",),
}
_CNI_DIRECTORIES = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))
_CNI_PLUGINS = ("bridge", "host-local", "loopback", "portmap")
# Where Debian keeps programs for administrators; not on everybody's PATH.
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def missing() -> list[str]:
    """The Debian packages that have to be installed."""
    absent = [package for package, probes in _PROBES.items() if not all(map(_is_there, probes))]
    return absent if find_cni_plugins() else [*absent, "containernetworking-plugins"]


def can_install() -> bool:
    """Tell whether this system has Debian's package manager."""
    return _is_there("apt-get")


def install() -> None:
    """Install what is missing; raise ClusterError if that fails."""
    if not (absent := missing()):
        return
    log = cache_home() / "logs" / "packages.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    with progress.step(f"installing {', '.join(absent)}"), log.open("w") as sink:
        for command in _apt_commands(absent):
            result = subprocess.run(
                command,
                env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                check=False,
            )
            if result.returncode != 0:
                raise ClusterError(f"`{' '.join(command)}` failed: see {log}")


def find_cni_plugins() -> Path | None:
    """The directory with the CNI plugins, or None."""
    for directory in _CNI_DIRECTORIES:
        if all((directory / plugin).exists() for plugin in _CNI_PLUGINS):
            return directory
    return None


def find_program(name: str) -> Path:
    """The path of an installed program; raise ClusterError if it is not there."""
    found = shutil.which(name, path=SEARCH_PATH)
    if found is None:
        raise ClusterError(f"{name} is not installed: run `python3 deploy/cluster install`")
    return Path(found)


def _apt_commands(packages: list[str]) -> Iterator[list[str]]:
    yield ["apt-get", "update"]
    yield ["apt-get", "install", "--yes", "--no-install-recommends", *packages]


def _is_there(probe: str) -> bool:
    if probe.startswith("/"):
        return Path(probe).exists()
    return shutil.which(probe, path=SEARCH_PATH) is not None

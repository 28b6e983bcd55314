"""The Debian packages that a node needs. Must not know how they are used."""

import os
import shutil
import subprocess
from pathlib import Path
from typing import TextIO

from tools.singlenode import progress
from tools.singlenode.errors import ClusterError
from tools.singlenode.lock import exclusive
from tools.singlenode.paths import cache_home

# Package -> programs or files which show that it, or an equivalent package, is installed.
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
_LONGEST_INSTALLATION_SECONDS = 600
_CNI_DIRECTORIES = (Path("/usr/lib/cni"), Path("/opt/cni/bin"))
_CNI_PLUGINS = ("bridge", "host-local", "loopback", "portmap")
# Includes Debian's directories for administrators, which are not on every user's PATH.
SEARCH_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def missing() -> list[str]:
    """The Debian packages that must be installed."""
    absent = [package for package, probes in _PROBES.items() if not all(map(_is_there, probes))]
    has_plugins = any(map(_has_plugins, _CNI_DIRECTORIES))
    return absent if has_plugins else [*absent, "containernetworking-plugins"]


def can_install() -> bool:
    """Return whether this system has Debian's package manager."""
    return _is_there("apt-get")


def install() -> None:
    """Install the missing packages; raise ClusterError if that fails."""
    if not missing():
        return
    lock = cache_home() / "packages.lock"
    busy = "another command is still installing packages"
    with exclusive(lock, wait_seconds=_LONGEST_INSTALLATION_SECONDS, busy=busy):
        if absent := missing():
            if not can_install():
                raise ClusterError(f"there is no apt-get: install {', '.join(absent)} yourself")
            _install(absent)


def cni_plugins() -> Path:
    """The directory with the CNI plugins; Debian's directory if there is none yet."""
    return next(filter(_has_plugins, _CNI_DIRECTORIES), _CNI_DIRECTORIES[0])


def find_program(name: str) -> Path:
    """The path of an installed program; raises ClusterError if it is not installed."""
    found = shutil.which(name, path=SEARCH_PATH)
    if found is None:
        raise ClusterError(f"{name} is not installed: run `python3 tools/singlenode install`")
    return Path(found)


def _install(absent: list[str]) -> None:
    log = cache_home() / "logs" / "packages.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    install = ["install", "--yes", "--no-install-recommends", *absent]
    with progress.long_step(f"installing {', '.join(absent)}"), log.open("w") as sink:
        # A package list that cannot be fetched does not matter if the others are sufficient.
        _apt_get(["update"], sink)
        if _apt_get(install, sink) != 0:
            raise ClusterError(f"`apt-get {' '.join(install)}` failed: see {log}")


def _apt_get(arguments: list[str], log: TextIO) -> int:
    result = subprocess.run(
        ["apt-get", "--option", f"DPkg::Lock::Timeout={_LONGEST_INSTALLATION_SECONDS}", *arguments],
        env={**os.environ, "DEBIAN_FRONTEND": "noninteractive"},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        check=False,
    )
    return result.returncode


def _has_plugins(directory: Path) -> bool:
    return all((directory / plugin).exists() for plugin in _CNI_PLUGINS)


def _is_there(probe: str) -> bool:
    if probe.startswith("/"):
        return Path(probe).exists()
    return shutil.which(probe, path=SEARCH_PATH) is not None

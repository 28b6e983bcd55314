"""Checks what this machine must have before anything can be installed or started.

Changes nothing.
"""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.singlenode import binaries, cgroups, network, packages
from tools.singlenode.errors import ClusterError
from tools.singlenode.paths import problem_with_homes

_OTHER_SYSTEM = "use Linux, for instance in a virtual machine"


def check() -> None:
    """Raise ClusterError with one sentence that names everything that is missing."""
    if problems := list(_problems()):
        raise ClusterError(f"cannot run a cluster here: {'; '.join(problems)}")


def check_control_plane() -> None:
    """Raise ClusterError with everything that prevents even a control plane from running."""
    problems = [] if sys.platform == "linux" else [_OTHER_SYSTEM]
    if problem := binaries.problem_with_go():
        problems.append(problem)
    if "openssl" in packages.missing():
        problems.append("install openssl")
    if problems:
        raise ClusterError(f"cannot run a control plane here: {'; '.join(problems)}")


def check_root() -> None:
    """Raise ClusterError unless this process is root on Linux, which a node requires."""
    if problem := _problem_with_user():
        raise ClusterError(f"cannot run a node here: {problem}")


def _problems() -> Iterator[str]:
    if problem := _problem_with_user():
        yield problem
    if problem := problem_with_homes():
        yield problem
    if problem := binaries.problem_with_go():
        yield problem
    if not packages.can_install() and (absent := packages.missing()):
        yield f"there is no apt-get, so install {', '.join(absent)} yourself"
    if sys.platform == "linux" and os.geteuid() == 0:
        yield from _problems_with_kernel()


def _problem_with_user() -> str | None:
    if sys.platform != "linux":
        return _OTHER_SYSTEM
    if os.geteuid() != 0:
        return "run as root, for instance with sudo"
    return None


def _problems_with_kernel() -> Iterator[str]:
    if not cgroups.is_writable():
        yield "/sys/fs/cgroup is not writable, so run outside a container or in a privileged one"
    if "overlay" not in Path("/proc/filesystems").read_text():
        yield "the kernel has no overlay file system, so run `modprobe overlay`"
    if not packages.missing() and not network.can_create():
        yield "this kernel cannot create network namespaces with veth and bridge interfaces"

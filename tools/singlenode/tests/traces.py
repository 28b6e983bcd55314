"""What a cluster could leave on a machine, seen from outside the tool.

Looks at the kernel's own lists, never at the tool's records. Others may come and go meanwhile: what
carries another cluster's name is left out, and a control group in which a process is at work, since
the cluster's own processes are looked for by themselves.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_NAMESPACES = Path("/run/netns")
# Where container programs keep things that no option moves.
_USUAL_PLACES = (
    "/run/containerd",
    "/run/netns",
    "/var/lib/cni",
    "/var/lib/containerd",
    "/var/lib/kubelet",
    "/var/log/containers",
    "/var/log/pods",
    "/etc/cni",
    "/opt",
    "/opt/containerd",
)
# Settings of the whole machine that a kubelet likes to change.
_TUNABLES = (
    "/proc/sys/kernel/keys/root_maxbytes",
    "/proc/sys/kernel/keys/root_maxkeys",
    "/proc/sys/kernel/panic",
    "/proc/sys/kernel/panic_on_oops",
    "/proc/sys/vm/overcommit_memory",
    "/proc/sys/vm/panic_on_oom",
)


@dataclass(frozen=True, slots=True)
class Traces:
    """Everything found at one moment, as printable words."""

    mounts: frozenset[str]
    namespaces: frozenset[str]
    interfaces: frozenset[str]
    cgroups: frozenset[str]
    busy_cgroups: frozenset[str]
    files: frozenset[str]
    tunables: frozenset[str]

    def beyond(self, before: "Traces") -> dict[str, set[str]]:
        """What is here and was not before, by kind; empty if there is nothing."""
        new = {
            "mounts": self.mounts - before.mounts,
            "namespaces": self.namespaces - before.namespaces,
            "interfaces": self.interfaces - before.interfaces,
            "cgroups": self.cgroups - self.busy_cgroups - before.cgroups,
            "files": self.files - before.files,
            "tunables": self.tunables - before.tunables,
        }
        return {kind: set(found) for kind, found in new.items() if found}


def look(name: str, state: Path) -> Traces:
    """Find what is there now that could be the cluster's."""
    cgroups = _cgroups()
    return Traces(
        mounts=_without_others(_mounts(), name),
        namespaces=_without_others(_listing(_NAMESPACES), name),
        interfaces=_listing(Path("/sys/class/net")),
        cgroups=_without_others(cgroups, name),
        busy_cgroups=frozenset(entry for entry in cgroups if _is_busy(entry)),
        files=_without_others(_files(), name) | _listing(state / name),
        tunables=frozenset(f"{entry}={entry.read_text()}" for entry in map(Path, _TUNABLES)),
    )


def processes_of(name: str, state: Path) -> dict[int, str]:
    """The processes that are the cluster's by their group, their network or their words."""
    groups = re.compile(rf":/afresh-{re.escape(name)}(/|$)", re.MULTILINE)
    found = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            words = (entry / "cmdline").read_text().replace("\0", " ")
            membership = (entry / "cgroup").read_text()
            is_zombie = (entry / "stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except (FileNotFoundError, ProcessLookupError):
            continue
        is_own = groups.search(membership) or f"{state / name}/" in words
        if is_own and not is_zombie and int(entry.name) != os.getpid():
            found[int(entry.name)] = words
    return found


def _mounts() -> frozenset[str]:
    lines = Path("/proc/self/mountinfo").read_text().splitlines()
    return frozenset(" ".join(line.split()[3:5]) for line in lines)


def _cgroups() -> frozenset[str]:
    return frozenset(str(Path(entry)) for entry, _, _ in os.walk(_CGROUPS))


def _is_busy(cgroup: str) -> bool:
    """Whether a process is in it; one that is gone by now was somebody's for a moment."""
    try:
        return any((Path(cgroup) / "cgroup.procs").read_text().split())
    except OSError:
        return True


def _files() -> frozenset[str]:
    found: set[str] = set()
    for place in (place for place in map(Path, _USUAL_PLACES) if place.exists()):
        found |= {str(place)} | {f"{place}/{entry}" for entry in _listing(place)}
    return frozenset(found)


def _listing(directory: Path) -> frozenset[str]:
    if not directory.exists():
        return frozenset()
    return frozenset(entry.name for entry in directory.iterdir())


def _without_others(found: frozenset[str], name: str) -> frozenset[str]:
    other = re.compile(rf"afresh-(?!{re.escape(name)}\b)[a-z0-9]")
    return frozenset(entry for entry in found if not other.search(entry))

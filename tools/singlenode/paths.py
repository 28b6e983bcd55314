"""The paths of the cache, of each cluster's state, and of the repository.

Owns names and places only. Must not know what runs in a cluster.
"""

import os
import re
from dataclasses import dataclass
from pathlib import Path

from tools.singlenode.errors import ClusterError

REPOSITORY = Path(__file__).resolve().parents[2]
MODULES = REPOSITORY / "tools" / "singlenode" / "modules"
IMAGES = REPOSITORY / "deploy" / "images"

# A node's containerd and kubelet see private directories of the cluster in these places, because no
# option can change where they write.
PRIVATE_PLACES = ("/run", "/var/log", "/var/lib")

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?")
# A Unix socket's path has at most 107 bytes; the longest one here is
# /clusters/<20 characters>/kubelet/pod-resources/kubelet.sock, 65 bytes.
_LONGEST_STATE_HOME = 107 - 65


def cache_home() -> Path:
    """The directory for what can be rebuilt: programs and images."""
    return _base_directory("XDG_CACHE_HOME", ".cache")


def state_home() -> Path:
    """The directory for the state of running clusters."""
    return _base_directory("XDG_STATE_HOME", ".local/state")


def clusters_home() -> Path:
    """The directory with one directory for each cluster."""
    return state_home() / "clusters"


def checked_name(text: str) -> str:
    """Return `text` if it is a valid name of a cluster; otherwise raise ClusterError."""
    if _NAME.fullmatch(text):
        return text
    raise ClusterError(
        f'"{text}" cannot name a cluster: use 1 to 20 of a-z, 0-9 and "-", '
        "beginning and ending with a letter or a digit"
    )


def problem_with_homes() -> str | None:
    """Return why clusters cannot use the chosen directories; None if they can."""
    if len(bytes(state_home())) > _LONGEST_STATE_HOME:
        return (
            f"{state_home()} is too long for Unix sockets: "
            f"set XDG_STATE_HOME to a path of at most {_LONGEST_STATE_HOME - 7} bytes"
        )
    for variable, home in (("XDG_STATE_HOME", state_home()), ("XDG_CACHE_HOME", cache_home())):
        for place in PRIVATE_PLACES:
            if home.resolve().is_relative_to(Path(place).resolve()):
                return f"{home} is below {place}: set {variable} to a directory elsewhere"
    return None


def _base_directory(variable: str, default: str) -> Path:
    chosen = Path(os.environ.get(variable, ""))
    home = chosen if chosen.is_absolute() else Path.home() / default
    return home / "afresh"


@dataclass(frozen=True, slots=True)
class ClusterPaths:
    """The paths of everything that one cluster keeps on disk, below one directory."""

    name: str

    @property
    def root(self) -> Path:
        """The directory that is removed with the cluster."""
        return clusters_home() / self.name

    @property
    def namespace(self) -> str:
        """The name of the cluster's network namespace and of its cgroup."""
        return f"afresh-{self.name}"

    @property
    def kind_file(self) -> Path:
        """The file with the kind of the cluster, which is written first."""
        return self.root / "kind"

    @property
    def ready_file(self) -> Path:
        """The file that is written last, when the start is complete."""
        return self.root / "ready"

    @property
    def pki(self) -> Path:
        """Keys, certificates and kubeconfigs of the components."""
        return self.root / "pki"

    @property
    def config(self) -> Path:
        """Configuration files of the components."""
        return self.root / "config"

    @property
    def admin_kubeconfig(self) -> Path:
        """The kubeconfig of the cluster's administrator."""
        return self.root / "admin.conf"

    @property
    def containerd_root(self) -> Path:
        """The directory in which the cluster's containerd keeps images and containers."""
        return self.root / "containerd" / "root"

    @property
    def containerd_socket(self) -> Path:
        """The socket of the cluster's own containerd."""
        return self.root / "containerd" / "containerd.sock"

    @property
    def private(self) -> Path:
        """The files that containerd and the kubelet see in place of those of the machine."""
        return self.root / "private"

    @property
    def audit_log(self) -> Path:
        """One JSON line for each write to the API, and for each request of the operator."""
        return self.root / "audit.log"

    @property
    def logs(self) -> Path:
        """The directory with one log file for each component."""
        return self.root / "logs"

    @property
    def records(self) -> Path:
        """The directory with one file for each component, which identifies its process."""
        return self.root / "processes"

    def log(self, component: str) -> Path:
        """The log file of `component`."""
        return self.logs / f"{component}.log"

    def record(self, component: str) -> Path:
        """The file that identifies the process of `component`."""
        return self.records / component

"""Where things lie: the cache, the state of each cluster, the repository.

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

# A node's containerd and kubelet see directories of the cluster's own in these places, because
# what they write there cannot be moved by any option.
PRIVATE_PLACES = ("/run", "/var/log", "/var/lib")

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,18}[a-z0-9])?")
# A Unix socket's path has at most 107 bytes; the longest one here is
# /clusters/<20 characters>/kubelet/pod-resources/kubelet.sock, 65 bytes.
_LONGEST_STATE_HOME = 107 - 65


def cache_home() -> Path:
    """The directory for what can be made again: binaries, images."""
    return _base_directory("XDG_CACHE_HOME", ".cache")


def state_home() -> Path:
    """The directory for what belongs to running clusters."""
    return _base_directory("XDG_STATE_HOME", ".local/state")


def clusters_home() -> Path:
    """The directory with one directory for each cluster."""
    return state_home() / "clusters"


def checked_name(text: str) -> str:
    """Return `text` if it can name a cluster; else raise ClusterError."""
    if _NAME.fullmatch(text):
        return text
    raise ClusterError(
        f'"{text}" cannot name a cluster: use 1 to 20 of a-z, 0-9 and "-", '
        "beginning and ending with a letter or a digit"
    )


def problem_with_homes() -> str | None:
    """Say why clusters cannot live in the chosen directories, or None if they can."""
    if len(bytes(state_home())) > _LONGEST_STATE_HOME:
        return (
            f"{state_home()} is too long for Unix sockets: "
            f"set XDG_STATE_HOME to a path of at most {_LONGEST_STATE_HOME - 7} bytes"
        )
    for variable, home in (("XDG_STATE_HOME", state_home()), ("XDG_CACHE_HOME", cache_home())):
        for place in PRIVATE_PLACES:
            if home.resolve().is_relative_to(Path(place).resolve()):
                return f"{home} lies under {place}: set {variable} to a directory elsewhere"
    return None


def _base_directory(variable: str, default: str) -> Path:
    chosen = Path(os.environ.get(variable, ""))
    home = chosen if chosen.is_absolute() else Path.home() / default
    return home / "afresh"


@dataclass(frozen=True, slots=True)
class ClusterPaths:
    """Everything that one cluster keeps on disk, under one directory."""

    name: str

    @property
    def root(self) -> Path:
        """The directory that goes when the cluster goes."""
        return clusters_home() / self.name

    @property
    def namespace(self) -> str:
        """The name of the cluster's network namespace and of its cgroup."""
        return f"afresh-{self.name}"

    @property
    def kind_file(self) -> Path:
        """Written first; says which kind of cluster this is."""
        return self.root / "kind"

    @property
    def ready_file(self) -> Path:
        """Written last; says that `up` got through."""
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
        """Where the cluster's own containerd keeps images and containers."""
        return self.root / "containerd" / "root"

    @property
    def containerd_socket(self) -> Path:
        """The socket of the cluster's own containerd."""
        return self.root / "containerd" / "containerd.sock"

    @property
    def private(self) -> Path:
        """What containerd and the kubelet see in place of directories and files of the machine."""
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
        """The directory with one file for each component that says which process it is."""
        return self.root / "processes"

    def log(self, component: str) -> Path:
        """The log file of `component`."""
        return self.logs / f"{component}.log"

    def record(self, component: str) -> Path:
        """The file that says which process `component` is."""
        return self.records / component

"""Imports images into a containerd, with ctr, containerd's own client."""

import json
import subprocess
import tarfile
from dataclasses import dataclass
from pathlib import Path

from tools.singlenode import packages
from tools.singlenode.errors import ClusterError

# Where the kubelet's containerd looks for images.
_NAMESPACE = "k8s.io"
_NAME_KEYS = ("io.containerd.image.name", "org.opencontainers.image.ref.name")


@dataclass(frozen=True, slots=True)
class ContainerdClient:
    """A client of the containerd that listens on the socket `address`."""

    address: Path

    def ensure_image(self, archive: Path) -> bool:
        """Import the single image of an OCI archive; return False if it was there already."""
        if archive_identity(archive) in self._identities():
            return False
        try:
            self._run("images", "import", str(archive))
        except ClusterError:
            # While an image replaces one of the same name, containerd may remove layers of the old
            # one after it has found them and before it uses them. A second try succeeds.
            self._run("images", "import", str(archive))
        return True

    def _identities(self) -> set[str]:
        rows = [line.split() for line in self._run("images", "list").splitlines()[1:]]
        return {f"{row[0]} {row[2]}" for row in rows}

    def _run(self, *arguments: str) -> str:
        program = str(packages.find_program("ctr"))
        command = [program, "--address", str(self.address), "--namespace", _NAMESPACE]
        result = subprocess.run([*command, *arguments], capture_output=True, text=True, check=False)
        if result.returncode != 0:
            raise ClusterError(f"`ctr {' '.join(arguments)}` failed: {result.stderr.strip()}")
        return result.stdout


def archive_identity(archive: Path) -> str:
    """The name and the digest of the single image in an OCI archive."""
    with tarfile.open(archive) as tar:
        index = tar.extractfile("index.json")
        if index is None:
            raise ClusterError(f"{archive} is not an OCI archive: remove it and build again")
        entry = json.load(index)["manifests"][0]
    names = entry["annotations"]
    name = next(names[key] for key in _NAME_KEYS if key in names)
    return f"{name} {entry['digest']}"

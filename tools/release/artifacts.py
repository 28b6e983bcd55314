"""Builds the parts of a release other than images: wheel and sdist, charts, and manifests.

The same commit gives the same bytes. Must not know when a release may be made.
"""

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from tools.release import reproducible
from tools.singlenode import binaries


class ArtifactError(Exception):
    """Something could not be built; the message is one sentence with the tool's own last line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """The version to release, its source and its target directory.

    `seconds` is the time in archives, in seconds since the epoch.
    """

    repository: Path
    version: str
    seconds: int
    target: Path


def build(release: Release) -> None:
    """Build everything but the images into the target. Raises ArtifactError or ClusterError."""
    release.target.mkdir(parents=True, exist_ok=True)
    build_distributions(release)
    _charts(release)
    _manifests(release)
    crds = sorted((release.repository / "crds").glob("*.yaml"))
    text = "---\n".join(path.read_text().removeprefix("---\n") for path in crds)
    (release.target / f"afresh-{release.version}-crds.yaml").write_text(text)


def build_distributions(release: Release) -> None:
    """Build the wheel and the sdist alone. Raises ArtifactError."""
    builder = [sys.executable, "-m", "hatchling", "build", "--directory", str(release.target)]
    _run(release, *builder)


def _charts(release: Release) -> None:
    helm = str(binaries.require(("helm",)) / "helm")
    for chart in sorted((release.repository / "charts").iterdir()):
        with tempfile.TemporaryDirectory() as scratch:
            _run(release, helm, "package", str(chart), "--destination", scratch)
            (packed,) = Path(scratch).iterdir()
            # Packed again, since Helm writes the current time into the archive.
            files = reproducible.read_tar_gz(packed)
            target = release.target / packed.name
            reproducible.write_tar_gz(target, files, seconds=release.seconds)


def _manifests(release: Release) -> None:
    name = f"afresh-{release.version}-manifests"
    files = reproducible.tree(release.repository / "deploy" / "manifests", "**/*.yaml", name)
    target = release.target / f"{name}.tar.gz"
    reproducible.write_tar_gz(target, files, seconds=release.seconds)


def _run(release: Release, *command: str) -> None:
    done = subprocess.run(
        command,
        cwd=release.repository,
        env={**os.environ, "SOURCE_DATE_EPOCH": str(release.seconds)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        said = (done.stderr.strip() or done.stdout.strip()).splitlines()
        tool = " ".join(Path(word).name for word in command[:4])
        raise ArtifactError(f"{tool} failed: {said[-1] if said else 'it says nothing'}")

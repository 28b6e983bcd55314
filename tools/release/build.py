"""Builds everything that a release has into dist/, and pushes nothing.

    python -m tools.release.build VERSION

Owns when a release may be made, and the order of the steps.
"""

import argparse
import hashlib
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tools.release import artifacts, changelog, manifests, oci_image, package_list, versions
from tools.singlenode import binaries, images, prerequisites, progress
from tools.singlenode.errors import ClusterError
from tools.singlenode.image_recipe import ImageRecipe, all_images, copied_sources

REPOSITORY = Path(__file__).resolve().parents[2]
_SUMS = "SHA256SUMS"
# Used only to try Afresh from the repository.
_NOT_RELEASED = {"demo"}
_ERRORS = (
    artifacts.ArtifactError,
    changelog.ChangelogError,
    oci_image.ImageError,
    versions.VersionError,
    ClusterError,
)


class TreeError(Exception):
    """The repository is not ready for a release; the message is one sentence with what to do."""


def require_ready(repository: Path, version: str) -> None:
    """Raise TreeError, VersionError or ChangelogError unless `version` may be released."""
    versions.checked(version)
    if changed := _git(repository, "status", "--porcelain").splitlines():
        raise TreeError(f"the tree has changes, such as {changed[0][3:]}: commit or remove them.")
    versions.require(repository, version)
    changelog.notes(repository, version)


def require_current(wanted: Mapping[Path, str]) -> None:
    """Raise TreeError unless each file has the wanted text, which `make manifests` writes."""
    for path, text in wanted.items():
        if path.read_text() != text:
            raise TreeError(
                f"{path.parent.name}/{path.name} differs from the charts: run `make manifests` "
                "and commit the result."
            )


def release_of(repository: Path, version: str) -> artifacts.Release:
    """Return the release of the commit that is checked out, with the commit's time."""
    seconds = int(_git(repository, "log", "-1", "--format=%ct"))
    return artifacts.Release(
        repository=repository, version=version, seconds=seconds, target=repository / "dist"
    )


def write_sums(directory: Path) -> None:
    """Write the digests of all files below a directory, in the format of sha256sum."""
    sums = directory / _SUMS
    sums.unlink(missing_ok=True)
    lines = [
        f"{_digest(path)}  {path.relative_to(directory)}\n"
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    ]
    sums.write_text("".join(lines))


def _images(release: artifacts.Release) -> None:
    names = [name for name in all_images() if name not in _NOT_RELEASED]
    images.build(names, release.version)
    target = release.target / "images"
    target.mkdir()
    shelf = oci_image.LayerShelf(package_list.is_wanted)
    for name in names:
        archive = target / f"{name}.oci.tar"
        # Moved and not copied, so that the cache does not keep a copy of each release.
        shutil.move(images.archive_of(name, release.version), archive)
        with progress.step(f"listing the packages of {name}"):
            found = oci_image.read(archive, shelf)
            listed = package_list.packages(found, sources_of(name))
            text = package_list.render(name, release.version, listed)
            (target / f"{name}.cdx.json").write_text(text)


def sources_of(image: str) -> package_list.Sources:
    """Return the files that name the programs installed during the build of the image."""
    dockerfile = ImageRecipe(image).dockerfile.read_text()
    copied = (REPOSITORY / source for source in copied_sources(dockerfile))
    return package_list.sources_of(dockerfile, copied)


def _digest(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()


def _git(repository: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *words], cwd=repository, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise TreeError(f"git {words[0]} failed: {done.stderr.strip().splitlines()[-1]}")
    return done.stdout


def main(arguments: list[str] | None = None) -> int:
    """Build the release; return the exit code."""
    parser = argparse.ArgumentParser(prog="make release", description=__doc__)
    parser.add_argument("version", metavar="VERSION")
    options = parser.parse_args(arguments)
    try:
        require_ready(REPOSITORY, options.version)
        prerequisites.check_root()
        binaries.require(("helm",))
        require_current(manifests.texts())
        release = release_of(REPOSITORY, options.version)
        shutil.rmtree(release.target, ignore_errors=True)
        artifacts.build(release)
        _images(release)
        (release.target / "NOTES.md").write_text(changelog.notes(REPOSITORY, options.version))
        write_sums(release.target)
    except (*_ERRORS, TreeError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(f"{release.target} has version {options.version}; {_SUMS} names every file.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The inputs of an image: its Dockerfile and the files that it copies, and a key for both.

Reads the repository, builds nothing.
"""

import hashlib
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path, PurePath

from tools.singlenode.errors import ClusterError
from tools.singlenode.paths import IMAGES, REPOSITORY

# `_is_ignored` supports only the patterns that this file uses.
_IGNORED = ".dockerignore"


def all_images() -> list[str]:
    """The names of the images that can be built."""
    return sorted(dockerfile.parent.name for dockerfile in IMAGES.glob("*/Dockerfile"))


def reference(image: str, tag: str) -> str:
    """The full name that pods use for the image."""
    return f"localhost/afresh/{image}:{tag}"


@dataclass(frozen=True, slots=True)
class ImageRecipe:
    """One image of deploy/images. The build's context is the repository."""

    image: str

    @property
    def dockerfile(self) -> Path:
        """The Dockerfile; raises ClusterError if there is no such image."""
        found = IMAGES / self.image / "Dockerfile"
        if not found.exists():
            raise ClusterError(f"there is no image {self.image}: choose from {_readable_images()}")
        return found

    def key(self, *ingredients: str) -> str:
        """A short digest of all inputs of the image, and of `ingredients`."""
        digest = hashlib.sha256("\0".join(ingredients).encode())
        text = self.dockerfile.read_text()
        digest.update(text.encode())
        for source in copied_sources(text):
            for path in self._files(source):
                content = path.read_bytes()
                head = f"{path.relative_to(REPOSITORY)} {_is_executable(path)} {len(content)}"
                digest.update(head.encode() + b"\0" + content)
        return digest.hexdigest()[:16]

    def _files(self, source: str) -> Iterator[Path]:
        root = REPOSITORY / source
        if not root.exists():
            raise ClusterError(
                f"{source} is missing, and the image {self.image} copies it: restore it"
            )
        if root.is_file():
            yield root
            return
        ignored = _ignored_patterns()
        for path in sorted(root.rglob("*")):
            if path.is_file() and not _is_ignored(path.relative_to(REPOSITORY), ignored):
                yield path


def copied_sources(dockerfile: str) -> list[str]:
    """The paths that a Dockerfile copies from the repository, in order."""
    joined = re.sub(r"\\\n", " ", dockerfile)
    sources: list[str] = []
    for line in joined.splitlines():
        instruction, _, rest = line.strip().partition(" ")
        if instruction.upper() not in ("COPY", "ADD"):
            continue
        words = shlex.split(rest)
        if not any(word.startswith("--from=") for word in words):
            sources += [word for word in words if not word.startswith("--")][:-1]
    return sources


def _ignored_patterns() -> list[str]:
    file = REPOSITORY / _IGNORED
    lines = file.read_text().splitlines() if file.exists() else []
    return [line for line in lines if line and not line.startswith("#")]


def _is_ignored(path: PurePath, patterns: list[str]) -> bool:
    """Return whether `path` or a directory above it is excluded from the build's context."""
    return any(_is_match(place, pattern) for place in (path, *path.parents) for pattern in patterns)


def _is_match(path: PurePath, pattern: str) -> bool:
    if pattern.startswith("**/"):
        return path.match(pattern.removeprefix("**/"))
    return len(path.parts) == len(PurePath(pattern).parts) and path.match(pattern)


def _is_executable(path: Path) -> bool:
    return bool(path.stat().st_mode & 0o100)


def _readable_images() -> str:
    return ", ".join(all_images())

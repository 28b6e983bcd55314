"""Where the version is written: pyproject.toml says it, and every other place repeats it.

Owns the places. Must not know what a release is made of.
"""

import re
from dataclasses import dataclass
from pathlib import Path

SOURCE = "pyproject.toml"


class VersionError(Exception):
    """No version, or not the one that is wanted; the message is one sentence with the remedy."""


@dataclass(frozen=True, slots=True)
class VersionPlace:
    """A file that holds the version, and the line that does. The pattern's group is the version."""

    path: str
    line: str

    def read(self, repository: Path) -> str:
        """Return the version that stands there. Raises VersionError if there is no such line."""
        return self._match(repository)[1]

    def write(self, repository: Path, version: str) -> None:
        """Put another version there. Raises VersionError if there is no such line."""
        match = self._match(repository)
        text = match.string
        written = f"{text[: match.start(1)]}{version}{text[match.end(1) :]}"
        (repository / self.path).write_text(written)

    def _match(self, repository: Path) -> re.Match[str]:
        found = re.search(self.line, (repository / self.path).read_text(), re.MULTILINE)
        if found is None:
            raise VersionError(f"{self.path} has no version: add a line like {self.line}.")
        return found


_PACKAGE = "controller/afresh/__init__.py"
_CHART_LINES = (r"^version: (\S+)$", r'^appVersion: "([^"]+)"$')
_VERSION = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")


def places(repository: Path) -> tuple[VersionPlace, ...]:
    """Return every place, pyproject.toml first."""
    charts = sorted(repository.glob("charts/*/Chart.yaml"))
    return (
        VersionPlace(SOURCE, r'^version = "([^"]+)"$'),
        VersionPlace(_PACKAGE, r'^__version__ = "([^"]+)"$'),
        *(
            VersionPlace(str(path.relative_to(repository)), line)
            for path in charts
            for line in _CHART_LINES
        ),
    )


def checked(text: str) -> str:
    """Return `text` if it can be a release's version. Raises VersionError otherwise."""
    if _VERSION.fullmatch(text):
        return text
    raise VersionError(f'"{text}" is no version: write three numbers, such as VERSION=1.2.3.')


def require(repository: Path, version: str) -> None:
    """Raise VersionError unless every place says `version`."""
    for place in places(repository):
        if (found := place.read(repository)) != version:
            raise VersionError(
                f"{place.path} says {found}, not {version}: run `make changelog VERSION={version}` "
                "and commit what it changes."
            )


def write(repository: Path, version: str) -> None:
    """Put `version` into every place. Raises VersionError."""
    for place in places(repository):
        place.write(repository, version)

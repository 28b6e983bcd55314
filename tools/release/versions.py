"""The places that have the version: pyproject.toml is the source, the others repeat it.

Owns the places. Must not know the parts of a release.
"""

import re
from dataclasses import dataclass
from pathlib import Path

SOURCE = "pyproject.toml"


class VersionError(Exception):
    """A version is missing or wrong; the message is one sentence with what to do."""


@dataclass(frozen=True, slots=True)
class VersionPlace:
    """A file with the version, and the pattern of its line, whose group is the version."""

    path: str
    line: str

    def read(self, repository: Path) -> str:
        """Return the version in the file. Raises VersionError if there is no such line."""
        return self._match(repository)[1]

    def write(self, repository: Path, version: str) -> None:
        """Replace the version in the file. Raises VersionError if there is no such line."""
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
    """Return `text` if it is valid as the version of a release. Raises VersionError otherwise."""
    if _VERSION.fullmatch(text):
        return text
    raise VersionError(f'"{text}" is not a version: write three numbers, such as VERSION=1.2.3.')


def require(repository: Path, version: str) -> None:
    """Raise VersionError unless every place has `version`."""
    for place in places(repository):
        if (found := place.read(repository)) != version:
            raise VersionError(
                f"{place.path} has {found}, not {version}: run `make changelog VERSION={version}` "
                "and commit the result."
            )


def write(repository: Path, version: str) -> None:
    """Write `version` to every place. Raises VersionError."""
    for place in places(repository):
        place.write(repository, version)

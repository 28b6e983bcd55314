"""CHANGELOG.md, and the fragments in changes/ from which its next section is made.

    python -m tools.release.changelog VERSION

moves the fragments into CHANGELOG.md and sets the version everywhere. Must not know the parts of a
release.
"""

import argparse
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from tools.release import versions
from tools.singlenode import binaries
from tools.singlenode.errors import ClusterError

REPOSITORY = Path(__file__).resolve().parents[2]
KINDS = ("added", "changed", "fixed", "security", "removed")
_CHANGELOG = "CHANGELOG.md"
_FRAGMENTS = "changes"
_NOT_A_FRAGMENT = "README.md"
_LONGEST = 300
_MARK = "<!-- newest first -->\n"


class ChangelogError(Exception):
    """A fragment or the page is invalid; the message says what to do."""


@dataclass(frozen=True, slots=True, order=True)
class Fragment:
    """One change, in a sentence for users."""

    slug: str
    kind: str
    sentence: str


def fragments(repository: Path) -> tuple[Fragment, ...]:
    """Return the fragments for the next release, ordered by name. Raises ChangelogError."""
    paths = sorted((repository / _FRAGMENTS).iterdir())
    return tuple(_parsed(path) for path in paths if path.name != _NOT_A_FRAGMENT)


def section(version: str, day: str, waiting: tuple[Fragment, ...]) -> str:
    """Return the section of one version, without kinds that do not occur."""
    parts = [
        f"\n### {kind.capitalize()}\n\n" + "".join(f"- {sentence}\n" for sentence in sentences)
        for kind in KINDS
        if (sentences := [item.sentence for item in waiting if item.kind == kind])
    ]
    return f"## {version} ({day})\n" + "".join(parts)


def has_section(repository: Path, version: str) -> bool:
    """Return whether the page has a section on `version`."""
    return f"\n## {version} (" in (repository / _CHANGELOG).read_text()


def notes(repository: Path, version: str) -> str:
    """Return the section on `version`. Raises ChangelogError if there is none."""
    if not has_section(repository, version):
        raise ChangelogError(
            f"{_CHANGELOG} has no section {version}: run `make changelog VERSION={version}` and "
            "commit the result."
        )
    text = (repository / _CHANGELOG).read_text()
    rest = text[text.index(f"\n## {version} (") + 1 :]
    return rest.partition("\n## ")[0].rstrip("\n") + "\n"


def collect(repository: Path, version: str, day: str) -> int:
    """Move the fragments into the page; return their number. Raises ChangelogError."""
    waiting = fragments(repository)
    if not waiting:
        raise ChangelogError(f"{_FRAGMENTS}/ has no fragments: there is nothing to release.")
    if has_section(repository, version):
        raise ChangelogError(f"{_CHANGELOG} has a section {version} already: choose a new version.")
    page = repository / _CHANGELOG
    before, found, after = page.read_text().partition(_MARK)
    if not found:
        raise ChangelogError(
            f"{_CHANGELOG} has no line {_MARK.strip()}: put it above the sections."
        )
    page.write_text(f"{before}{_MARK}\n{section(version, day, waiting)}{after}")
    for item in waiting:
        (repository / _FRAGMENTS / f"{item.slug}.{item.kind}.md").unlink()
    return len(waiting)


def _parsed(path: Path) -> Fragment:
    slug, _, kind = path.name.removesuffix(".md").rpartition(".")
    where = f"{_FRAGMENTS}/{path.name}"
    if path.suffix != ".md" or not slug or kind not in KINDS:
        raise ChangelogError(
            f"{where} names no kind: call it SLUG.KIND.md, with a kind of {', '.join(KINDS)}."
        )
    sentence = " ".join(path.read_text().split())
    if not sentence.endswith((".", "`.")) or sentence.startswith(("-", "#", "*")):
        raise ChangelogError(
            f"{where} is not a sentence: write plain text that ends with a full stop."
        )
    if len(sentence) > _LONGEST:
        raise ChangelogError(f"{where} has over {_LONGEST} characters: write only what users see.")
    return Fragment(slug, kind, sentence)


def _today() -> str:
    """Return today's date in UTC, or the date of SOURCE_DATE_EPOCH."""
    seconds = os.environ.get("SOURCE_DATE_EPOCH")
    return time.strftime("%Y-%m-%d", time.gmtime(int(seconds) if seconds else None))


def main(arguments: list[str] | None = None, repository: Path = REPOSITORY) -> int:
    """Write the section and the version; return the exit code."""
    parser = argparse.ArgumentParser(prog="make changelog", description=__doc__)
    parser.add_argument("version", metavar="VERSION")
    options = parser.parse_args(arguments)
    try:
        version = versions.checked(options.version)
        # The manifests are generated from the charts after this.
        binaries.require(("helm",))
        count = collect(repository, version, _today())
        versions.write(repository, version)
    except (ChangelogError, versions.VersionError, ClusterError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(
        f"{_CHANGELOG} has a section {version} with {count} changes. The version is {version} in "
        "every file."
    )
    print(f"Read it, commit it, and run `make release VERSION={version}`.")
    return 0


if __name__ == "__main__":
    sys.exit(main())

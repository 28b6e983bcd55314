"""Reads the files that a command names. Owns what is said where one cannot be read."""

import sys
from pathlib import Path

import click

from afresh.cli.manifest.checked_file import MAX_BYTES, CheckedFile, check_file

STANDARD_INPUT = "-"


def read_files(names: tuple[str, ...]) -> list[CheckedFile]:
    """Return the files, checked. Raises click.UsageError for one that cannot be read."""
    return [check_file(_shown(name), _content(name)) for name in dict.fromkeys(names)]


def _shown(name: str) -> str:
    return "stdin" if name == STANDARD_INPUT else name


def _content(name: str) -> bytes:
    """Return the content; of one that is too long, enough to see that."""
    try:
        if name == STANDARD_INPUT:
            return sys.stdin.buffer.read(MAX_BYTES + 1)
        with Path(name).open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except OSError as error:
        raise click.UsageError(f"{name} cannot be read: {error.strerror or error}") from error

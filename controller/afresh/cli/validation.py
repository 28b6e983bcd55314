"""Tells what is wrong with files. Pure but for reading them."""

import json
from collections.abc import Iterable

from afresh.cli.manifest.checked_file import CheckedFile
from afresh.cli.manifest.source import read_files
from afresh.cli.printable import plain_line
from afresh.cli.requests import ChangeForm


def validated(names: tuple[str, ...], form: ChangeForm) -> tuple[str, bool]:
    """Return what to tell about the files, and whether all are valid.

    Raises click.UsageError for a file that cannot be read.
    """
    files = read_files(names)
    valid = not any(file.faults for file in files)
    return (_as_json(files, valid) if form is ChangeForm.JSON else _as_text(files)), valid


def _as_json(files: Iterable[CheckedFile], valid: bool) -> str:
    objects = [
        {"file": file.name, "kind": item.kind, "name": item.name, "checked": item.is_ours}
        for file in files
        for item in file.objects
    ]
    errors = [fault.as_values() for file in files for fault in file.faults]
    return json.dumps({"valid": valid, "objects": objects, "errors": errors}, indent=2) + "\n"


def _as_text(files: Iterable[CheckedFile]) -> str:
    return "".join(f"{line}\n" for file in files for line in _lines(file))


def _lines(file: CheckedFile) -> list[str]:
    if file.faults:
        return [fault.as_text() for fault in file.faults]
    return [
        plain_line(
            f"{file.name}: {item.kind} {item.name} is "
            f"{'valid' if item.is_ours else 'not checked: it is of no kind of Afresh'}."
        )
        for item in file.objects
    ]

"""The command line of what writes files from the models. Owns --check; knows no content."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path


def write_or_check(
    program: str, description: str, texts: Mapping[str, str], arguments: list[str] | None
) -> int:
    """Write `texts`, by their file names, into a directory, or check them; return the exit code."""
    parser = argparse.ArgumentParser(prog=f"python -m {program}", description=description)
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if not current")
    options = parser.parse_args(arguments)
    directory: Path = options.directory
    if not directory.is_dir():
        parser.error(f"{directory} is not a directory")
    wanted = {directory / name: text for name, text in texts.items()}
    if not options.check:
        for path, text in wanted.items():
            path.write_text(text)
        return 0
    stale = [path for path, text in wanted.items() if not _has(path, text)]
    if stale:
        names = ", ".join(map(str, stale))
        sys.stderr.write(f"not current: {names}; run python -m {program} {directory}\n")
    return 1 if stale else 0


def _has(path: Path, text: str) -> bool:
    return path.exists() and path.read_text() == text

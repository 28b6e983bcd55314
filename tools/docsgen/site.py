"""Builds the site of docs/ as zensical.toml says; a broken link fails.

    python -m tools.docsgen.site

Needs the checkout as working directory. Knows the generator's program, and nothing of the pages.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path

SITE = Path("build/site")
_CACHE = Path(".cache")  # the generator's own: a page that is gone would stay in it
_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
_TRACE = "Traceback (most recent call last):"


class SiteError(Exception):
    """The site cannot be built; the text says which links are broken."""


def build(root: Path) -> Path:
    """Build the site of the checkout at `root` again and return its folder. Raises SiteError."""
    for old in (SITE, _CACHE):
        shutil.rmtree(root / old, ignore_errors=True)
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )
    shutil.rmtree(root / _CACHE, ignore_errors=True)
    if done.returncode != 0:
        said = _COLOUR.sub("", done.stdout + done.stderr)
        raise SiteError(said.partition(_TRACE)[0].strip())
    return root / SITE


def main() -> int:
    """Build the site of the working directory; return the exit code."""
    try:
        site = build(Path())
    except SiteError as error:
        sys.stderr.write(f"{error}\nerror: the site is not built: correct what is named above\n")
        return 1
    print(f"{site}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())

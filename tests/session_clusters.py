"""The clusters of tests: each has the name of the process that uses it, and goes with it.

A process that is killed leaves its cluster running. The next one of the same kind removes it.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from tools.singlenode.paths import clusters_home

_TOOL = Path(__file__).parents[1] / "tools" / "singlenode"


def new_name(kind: str) -> str:
    """Return the name for this process's cluster of a kind, with no older one left running.

    A cluster of this name, too, is that of a process that was killed: it had the same number.
    """
    name = f"{kind}-{os.getpid()}"
    for left in _left_behind(kind, name):
        subprocess.run(
            [sys.executable, str(_TOOL), "down", left],
            check=True,
            capture_output=True,
            timeout=600,
        )
    return name


def _left_behind(kind: str, name: str) -> list[str]:
    numbered = re.compile(rf"{re.escape(kind)}-(\d+)")
    found = (numbered.fullmatch(path.name) for path in clusters_home().glob("*"))
    return sorted(
        match[0] for match in found if match and (match[0] == name or _has_ended(match[1]))
    )


def _has_ended(process: str) -> bool:
    return not Path("/proc", process).exists()

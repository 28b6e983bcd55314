"""One run of the package `demo`, as a process of its own: `one_run.py CLONE [LAST_WRITE]`.

With LAST_WRITE, the process is killed after it has written so many files.
"""

import os
import signal
import sys
from pathlib import Path

from afresh.local import files
from afresh.local.session import Session
from afresh.local.state import StateError

KILLED = "killed"


def kill_after(count: int) -> None:
    """Kill this process once that many files have been replaced."""
    write, left = files.write_whole, count

    def counted(path: Path, content: bytes, *, mode: int = 0o600) -> None:
        nonlocal left
        write(path, content, mode=mode)
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    files.write_whole = counted


def main(clone: str, *options: str) -> int:
    if options:
        kill_after(int(options[0]))
    try:
        end = Session.around(Path(clone)).run("demo", lambda *_: None, {})
    except StateError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 130 if end.interrupts else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

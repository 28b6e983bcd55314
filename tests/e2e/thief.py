"""A program under test that wants to say itself how the acceptance command has ended.

Leaves processes behind that read what the first process of the container tells the runner, and pass
it on with another exit code. Runs in the agent's image; it is sent there as text.
"""

import os
import re
from pathlib import Path

THIEVES = 8
BAD_END = re.compile(rb"^(rc [0-9a-f]+) [1-9][0-9]*$", re.MULTILINE)


def channel() -> str:
    """The end of the FIFO on which exit codes are reported, as the first process has it open."""
    ends = Path("/proc/1/fd").iterdir()
    return next(str(end) for end in ends if "done" in str(end.readlink()))


def listen(path: str) -> None:
    """Take what is said, change it, and say it again."""
    theirs = os.open(path, os.O_RDONLY)
    ours = os.open(path, os.O_WRONLY)
    while lines := os.read(theirs, 1 << 16):
        os.write(ours, BAD_END.sub(rb"\1 0", lines))


def main() -> None:
    """Leave the thieves behind, deaf to everything but KILL, once they all listen."""
    found = channel()
    for _ in range(THIEVES):
        heard, tell = os.pipe()
        if os.fork() == 0:
            os.setsid()
            os.close(heard)
            os.close(0)
            os.write(tell, b"listening")
            os.close(tell)
            listen(found)
        os.close(tell)
        os.read(heard, 16)
        os.close(heard)


main()

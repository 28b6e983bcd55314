"""`python3 -m afresh.episode`: the runner's container.

`--root DIRECTORY` puts every path of the pod below that directory.
"""

import os
import sys
from pathlib import Path

from afresh.episode.paths import Paths
from afresh.episode.run import run_episode


def main(arguments: list[str]) -> int:
    """Run the episode; return the exit code of the container."""
    match arguments:
        case []:
            return run_episode(Paths())
        case ["--root", root]:
            return run_episode(Paths.under(Path(root).resolve()))
        case _:
            sys.stderr.write("usage: python3 -m afresh.episode [--root DIRECTORY]\n")
            return 2


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    # Not sys.exit: the gateway's thread need not be waited for.
    os._exit(code)

"""The program of the runner's container: `python3 -m afresh.episode`.

`--root DIRECTORY` places every path of the pod below that directory. With `--sandboxed DIRECTORY`
only the runner's paths are there: agent and verify have theirs where a pod has them.
"""

import os
import sys
from pathlib import Path

from afresh.contract.codec import ContractError
from afresh.episode.fetch_ahead import begin_fetch, read_order
from afresh.episode.paths import Paths
from afresh.episode.process import hold_terminate


def main(arguments: list[str]) -> int:
    """Run the episode; return the exit code of the container."""
    match arguments:
        case []:
            return _run(Paths())
        case ["--root", root]:
            return _run(Paths.under(Path(root).resolve()))
        case ["--sandboxed", root]:
            return _run(Paths.sandboxed(Path(root).resolve()))
        case _:
            sys.stderr.write("usage: python3 -m afresh.episode [--root|--sandboxed DIRECTORY]\n")
            return 2


def _run(paths: Paths) -> int:
    hold_terminate()
    try:
        order = read_order(paths)
    except (OSError, ContractError) as error:
        from afresh.episode.run import refuse_order  # noqa: PLC0415  # as below

        return refuse_order(paths, str(error))
    fetch = begin_fetch(order, paths)
    from afresh.episode.run import run_episode  # noqa: PLC0415  # while git fetches

    return run_episode(order, paths, fetch)


if __name__ == "__main__":
    code = main(sys.argv[1:])
    sys.stdout.flush()
    # Not sys.exit, which would wait for the gateway's thread.
    os._exit(code)

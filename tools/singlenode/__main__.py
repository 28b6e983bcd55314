"""Run the command line: `python3 tools/singlenode COMMAND`."""

import sys
from pathlib import Path

if sys.version_info < (3, 11):  # noqa: UP036 - users of an older version should see why
    sys.exit("error: Python 3.11 or newer is needed: run this with python3.11, for instance")

# Python runs this folder directly: make the package importable from the repository.
sys.path[0] = str(Path(__file__).resolve().parents[2])

from tools.singlenode.cli import main  # noqa: E402  # found where the line above says

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

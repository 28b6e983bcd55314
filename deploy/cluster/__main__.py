"""Run the command line: `python3 deploy/cluster COMMAND`."""

import sys

if sys.version_info < (3, 11):  # noqa: UP036 - whoever has an older one should read why
    sys.exit("error: Python 3.11 or newer is needed: run this with python3.11, for instance")

from singlenode.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Run the command line: `python3 deploy/cluster COMMAND`."""

import sys

from singlenode.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

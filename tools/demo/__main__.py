"""Run the demo: `python3 tools/demo`."""

import subprocess
import sys
from pathlib import Path

# Python runs this folder directly: make the package importable from the repository.
sys.path[0] = str(Path(__file__).resolve().parents[2])

from tools.demo.run import main  # noqa: E402  # found where the line above says

if __name__ == "__main__":
    try:
        sys.exit(main())
    except (KeyboardInterrupt, subprocess.SubprocessError):
        sys.exit(130)

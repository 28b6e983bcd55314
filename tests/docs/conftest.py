"""The cluster tool is run as a program, not installed; what it builds, the pages call."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "deploy" / "cluster"))

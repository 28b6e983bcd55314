"""The tool for clusters is run as a program, not installed: its package is put on the path here."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "deploy" / "cluster"))

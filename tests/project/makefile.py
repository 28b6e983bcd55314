"""The Makefile as its users read it: targets, and what `make help` says of them."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "Makefile").read_text()
_JOINED = TEXT.replace("\\\n", " ")
TARGETS = set(re.findall(r"^([a-z][a-z0-9-]*):", _JOINED, re.MULTILINE))
PHONY = {
    target
    for line in re.findall(r"^\.PHONY:(.*)$", _JOINED, re.MULTILINE)
    for target in line.split()
}


def called(text: str) -> set[str]:
    """The targets that `make` is given in a piece of text: all words after it that can be one."""
    calls = re.findall(r"\bmake((?: +[a-z][a-z0-9-]*\b(?!=))+)", text)
    return {target for call in calls for target in call.split()}

"""The image tags in examples: each is the version of this checkout, so that a copied command works.

Only images of the project itself have that version; other images of the examples keep their tags.
"""

import re
from pathlib import Path

_TAG = re.compile(
    r"(?P<before>registry(?:\.internal)?\.example\.com/afresh/[a-z-]+:"
    r"|\bTAG=|\bimage\.tag=|\btag: \")"
    r"[0-9][\w.-]*\w"
)


def with_version(text: str, version: str) -> str:
    """Return `text` with `version` as the tag of each of the project's images."""
    return _TAG.sub(rf"\g<before>{version}", text)


def pages(directory: Path) -> list[Path]:
    """Return the files with examples: the pages of docs/, the README and the charts' Chart.yaml."""
    root = directory.parent
    charts = sorted(root.glob("charts/*/Chart.yaml"))
    return [root / "README.md", *sorted(directory.rglob("*.md")), *charts]

"""What an apply would change, as lines that people read. Pure."""

import difflib
from typing import Any

from afresh.cli.forms import as_yaml
from afresh.cli.printable import plain_lines

CONTEXT_LINES = 3
_METADATA = ("labels", "annotations")
# What tools keep there is of no interest.
_OF_TOOLS = ("kubectl.kubernetes.io/last-applied-configuration",)


def difference(before: dict[str, Any] | None, after: dict[str, Any]) -> str:
    """Return the lines that differ, with - and +; empty if nothing changes."""
    old, new = _lines(before), _lines(after)
    # The first two lines name files, and there are none.
    found = list(difflib.unified_diff(old, new, lineterm="", n=CONTEXT_LINES))[2:]
    return "\n".join(plain_lines(line) for line in found if not line.startswith("@@"))


def _lines(manifest: dict[str, Any] | None) -> list[str]:
    if manifest is None:
        return []
    metadata = manifest.get("metadata", {})
    kept = {
        part: {key: value for key, value in metadata[part].items() if key not in _OF_TOOLS}
        for part in _METADATA
        if metadata.get(part)
    }
    shown = {"metadata": {key: value for key, value in kept.items() if value}}
    return as_yaml({**shown, "spec": manifest.get("spec", {})}).splitlines()

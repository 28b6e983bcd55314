"""Values as YAML, and rows as columns of plain text. Pure."""

import json
from collections.abc import Sequence
from typing import Any

GAP = "   "


def as_yaml(value: Any) -> str:
    """Return plain values as a YAML document; control characters are escaped."""
    import yaml  # noqa: PLC0415  # slow to import, and most commands write no YAML

    dumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)
    # Texts of other types, such as phases, become texts.
    plain = json.loads(json.dumps(value))
    document: str = yaml.dump(plain, Dumper=dumper, sort_keys=False, allow_unicode=True, width=100)
    return document


def as_columns(rows: Sequence[Sequence[str]]) -> str:
    """Return rows as lines whose cells are below each other."""
    sizes = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = (
        GAP.join(cell.ljust(size) for cell, size in zip(row, sizes, strict=True)).rstrip()
        for row in rows
    )
    return "\n".join(lines) + "\n"

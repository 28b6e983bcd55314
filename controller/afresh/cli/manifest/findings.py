"""What is wrong in a file, and where. Pure."""

import json
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from afresh.cli.manifest.yaml_nodes import YamlNode
from afresh.cli.printable import plain_line

Path = tuple[str | int, ...]
LONGEST_VALUE = 60


@dataclass(frozen=True, slots=True, order=True)
class ManifestFault:
    """One error in a file; `path` is empty where the file itself cannot be read."""

    file: str
    line: int
    path: str
    message: str

    def as_text(self) -> str:
        """Return the fault as compilers write it, so that editors find the place."""
        said = f"{self.path}: {self.message}" if self.path else self.message
        return plain_line(f"{self.file}:{self.line}: {said}")

    def as_values(self) -> dict[str, Any]:
        """Return the fault as plain values."""
        where = {"file": self.file, "line": self.line, "path": self.path}
        return where | {"message": plain_line(self.message)}


def written_path(path: Path) -> str:
    """Return a path as the API server writes it, such as `spec.subtasks[0].prompt`."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in path]
    return "".join(parts).removeprefix(".")


def line_of(root: YamlNode, path: Path) -> int:
    """Return the line of the value at `path`; of an absent one, that of the nearest around it."""
    node, line = root, root.line
    for part in path:
        if isinstance(part, int):
            if part >= len(node.items):
                return line
            node = node.items[part]
            line = node.line
            continue
        if part not in node.fields:
            return node.key_lines.get(part, line)
        line = node.key_lines[part]
        node = node.fields[part]
    return line


def written_value(value: Any) -> str:
    """Return a value as JSON, short enough for a message."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= LONGEST_VALUE else f"{text[:LONGEST_VALUE]}..."


def meant(word: str, known: list[str]) -> str:
    """Return the end of a message that names the word that was meant; empty if none is alike."""
    lower = {item.lower(): item for item in known}
    found = get_close_matches(word.lower().replace("_", "")[:80], list(lower), n=1)
    return f'; did you mean "{lower[found[0]]}"?' if found else ""

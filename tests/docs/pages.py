"""The pages of the documentation, and the blocks in them that users may copy."""

import re
import textwrap
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
_FENCE = re.compile(r"^( *)```(\w*)[^\n]*\n(.*?)^\1```", re.MULTILINE | re.DOTALL)
_HEREDOC = re.compile(r"<<-?'?(\w+)'?[^\n]*\n(.*?)\n\1$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True)
class Block:
    """A fenced block: where it is, of which language it says to be, and its text."""

    where: str
    language: str
    text: str

    @property
    def here_documents(self) -> list[str]:
        """What the commands of the block are given on their standard input."""
        return [found[2] for found in _HEREDOC.finditer(self.text)]

    @property
    def commands(self) -> str:
        """The block without what its commands are given on their standard input."""
        return _HEREDOC.sub("", self.text)


def blocks() -> list[Block]:
    """Every block of every page, in their order."""
    found = []
    for page in PAGES:
        text = page.read_text()
        for match in _FENCE.finditer(text):
            line = text.count("\n", 0, match.start()) + 2
            where = f"{page.relative_to(ROOT)} line {line}"
            found.append(Block(where, match[2], textwrap.dedent(match[3])))
    return found


def without_blocks(page: Path) -> str:
    """The text of a page, without its blocks."""
    return _FENCE.sub("", page.read_text())

"""The lists of pages, in the overviews of folders and in the site's navigation.

They come from the first heading and the first sentence of each page, so that a new page needs no
entry in a list.
"""

import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_HEADING = re.compile(r"^# (.+)$", re.MULTILINE)
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_NO_TEXT = re.compile(r"[#|!<-]|```")
_SENTENCE = re.compile(r".*?[.](?=\s|$)", re.DOTALL)
_NUMBER = re.compile(r"^0*(\d+)[.]? ")
_LINK = re.compile(r"\[([^\]]+)\]\([^)]+\)")
# The top level of the navigation, and the first pages of folders; the others are ordered by name.
TOP: Sequence[tuple[str, str]] = (
    ("Home", "index.md"),
    ("Quick start", "quick-start.md"),
    ("Install", "install.md"),
    ("Concepts", "concepts.md"),
    ("How-to", "how-to"),
    ("Reference", "reference"),
    ("Security", "security.md"),
    ("Architecture", "architecture.md"),
    ("Decisions", "decisions"),
    ("Comparison", "comparison.md"),
)
_FIRST = {
    "how-to": ("first-package.md", "write-good-packages.md", "answer-a-review.md"),
    "reference": ("workpackage.md", "subtask.md", "agentclass.md", "agents.md", "repository.md"),
}


def title(page: Path) -> str:
    """Return the first heading of a page; that of a decision has the form `7. TITLE`.

    Raises ValueError if there is none.
    """
    found = _HEADING.search(page.read_text())
    if found is None:
        raise ValueError(f"{page} has no heading: begin it with a line '# TITLE'")
    return _NUMBER.sub(r"\1. ", found[1].strip())


def folder_list(directory: Path, folder: str) -> str:
    """Return a line for each page of a folder, with its title and its first sentence."""
    home = directory / folder
    lines = []
    for page in _pages(directory, folder):
        shown = page.relative_to(home)
        lines.append(f"- [{_plain(title(page))}]({shown}): {_sentence(page)}".removesuffix(": "))
    return "\n".join(lines)


def decision_list(directory: Path) -> str:
    """Return a line for each decision record, in the order of their numbers."""
    pages = [page for page in _pages(directory, "decisions") if page.name[0].isdigit()]
    return "\n".join(f"- [{_plain(title(page))}]({page.name})" for page in pages)


def navigation(directory: Path) -> str:
    """Return the site's navigation as a TOML array; pages that do not exist are left out."""
    return "nav = [\n" + "".join(f"  {entry},\n" for entry in _entries(directory)) + "]"


def _entries(directory: Path) -> Iterator[str]:
    for name, path in TOP:
        where = directory / path
        if where.is_file():
            yield f"{{ {_text(name)} = {_text(path)} }}"
        elif where.is_dir():
            pages = [where / "index.md", *_pages(directory, path)]
            inner = [f"    {_page(directory, page)},\n" for page in pages if page.exists()]
            yield f"{{ {_text(name)} = [\n{''.join(inner)}  ] }}"


def _page(directory: Path, page: Path) -> str:
    path = page.relative_to(directory).as_posix()
    if page.name == "index.md":
        return _text(path)
    return f"{{ {_text(_plain(title(page)))} = {_text(path)} }}"


def _pages(directory: Path, folder: str) -> list[Path]:
    first = _FIRST.get(folder, ())
    pages = (directory / folder).glob("*.md")
    found = {page.name: page for page in pages if page.name != "index.md"}
    leading = [found.pop(name) for name in first if name in found]
    return [*leading, *(found[name] for name in sorted(found))]


def _sentence(page: Path) -> str:
    """Return the first sentence below the title; empty if a heading follows the title directly."""
    _, _, body = _COMMENT.sub("", page.read_text()).partition("\n")
    paragraphs = (part.strip() for part in body.partition("\n## ")[0].split("\n\n"))
    text = next((part for part in paragraphs if part and not _NO_TEXT.match(part)), "")
    said = _SENTENCE.match(text)
    return _LINK.sub(r"\1", " ".join(said[0].split())) if said else ""


def _plain(text: str) -> str:
    return text.replace("`", "")


def _text(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)

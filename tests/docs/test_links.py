"""Links between the pages lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)(?:#([^)]+))?\)")


def anchors(page: Path) -> set[str]:
    """The names under which a code host lets the headings of a page be linked to."""
    heads = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    kept = [re.sub(r"[^\w\- ]", "", head.lower()) for head in heads]
    return {head.replace(" ", "-") for head in kept}


def links() -> list:
    return [
        pytest.param(page, *match.groups(), id=f"{page.relative_to(ROOT)} to {match[0][2:-1]}")
        for page in PAGES
        for match in LINK.finditer(page.read_text())
    ]


@pytest.mark.parametrize(("page", "path", "anchor"), links())
def test_a_link_leads_to_a_file_and_to_a_heading_of_it(page, path, anchor) -> None:
    target = page.parent / path

    assert target.exists()
    assert anchor is None or anchor in anchors(target)

"""Links between the pages lead somewhere."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT, without_blocks

LINK = re.compile(r"\]\((?!https?:)([^)#\s]*)(?:#([^)]+))?\)")


def anchors(page: Path) -> set[str]:
    """The names under which a code host lets the headings of a page be linked to."""
    text = without_blocks(page)
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    kept = [re.sub(r"[^\w\- ]", "", head.lower()) for head in heads]
    named = re.findall(r'<a id="([^"]+)">', text)
    return {head.replace(" ", "-") for head in kept} | {*named}


def links() -> list:
    found = {
        (page, match[1], match[2])
        for page in PAGES
        for match in LINK.finditer(without_blocks(page))
    }
    return [
        pytest.param(page, path, anchor, id=f"{page.relative_to(ROOT)} to {path}#{anchor or ''}")
        for page, path, anchor in sorted(found, key=str)
    ]


@pytest.mark.parametrize(("page", "path", "anchor"), links())
def test_a_link_leads_to_a_file_and_to_a_heading_of_it(page, path, anchor) -> None:
    target = page.parent / path if path else page

    assert target.exists()
    assert anchor is None or anchor in anchors(target)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_has_one_title_and_no_two_headings_of_one_name_on_a_level(page) -> None:
    heads = re.findall(r"^(##? .+)$", without_blocks(page), re.MULTILINE)

    assert len([head for head in heads if head.startswith("# ")]) == 1
    assert len(heads) == len(set(heads)), "a link could mean either"

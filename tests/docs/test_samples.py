"""What pages show as output is what the product prints: tables' columns and messages."""

import re
from pathlib import Path

import pytest
import yaml

from tests.core.sentences import sentences

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
DEBUG = ROOT / "docs/how-to/debug-a-stalled-package.md"
HEADINGS = [
    pytest.param(line, id=f"{page.name}: {line}")
    for page in PAGES
    for line in page.read_text().splitlines()
    if re.match(r"NAME +[A-Z]", line)
]
# A row of the first table: reason, message, remedy.
MESSAGES = re.findall(r"^\| `\w+` \| ([A-Z][^|]*[.]) \|", DEBUG.read_text(), re.MULTILINE)


def columns() -> list[list[str]]:
    """Return the columns of each kind, as kubectl prints them."""
    files = [yaml.safe_load(path.read_text()) for path in sorted((ROOT / "crds").glob("*.yaml"))]
    return [
        [
            "NAME",
            *(
                item["name"].upper()
                for item in file["spec"]["versions"][0]["additionalPrinterColumns"]
                if not item.get("priority")
            ),
        ]
        for file in files
    ]


@pytest.mark.parametrize("heading", HEADINGS)
def test_a_table_on_a_page_has_the_columns_of_its_kind(heading: str) -> None:
    assert heading.split() in columns()


def test_the_page_on_stalled_packages_shows_messages() -> None:
    assert len(MESSAGES) >= 6


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_on_the_page_on_stalled_packages_is_one_of_the_codes(message: str) -> None:
    shown = message.removesuffix("...").removesuffix(" Details: ").strip()

    begun = [item for item in sentences() if item.is_in(shown) or item.begins(shown)]

    assert begun, f"no sentence of the code is {shown!r}"

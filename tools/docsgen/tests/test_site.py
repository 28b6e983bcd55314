"""The real generator builds the site, refuses what is broken, and loads nothing from elsewhere."""

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tools.docsgen import site

ROOT = Path(__file__).resolve().parents[3]
LOADING = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src"}
ELSEWHERE = re.compile(r"^(https?:)?//")


class Loaded(HTMLParser):
    """The addresses that a page loads by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "link" and values.get("rel") in ("canonical", "prev", "next"):
            return
        self.found.append(values.get(LOADING.get(tag, "")) or "")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What the site is built from, as a checkout of its own."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    return tmp_path


def test_the_site_has_a_page_for_every_page_and_loads_nothing_from_elsewhere(checkout) -> None:
    built = site.build(checkout)

    for page in (checkout / "docs").rglob("*.md"):
        path = page.relative_to(checkout / "docs").with_suffix("")
        folder = path.parent if path.name == "index" else path
        text = (built / folder / "index.html").read_text()
        loaded = Loaded()
        loaded.feed(text)
        assert [found for found in loaded.found if ELSEWHERE.match(found)] == [], page
        assert "<h1" in text, page
    styles = "".join(sheet.read_text() for sheet in built.rglob("*.css"))
    assert not re.search(r"(@import|url\()\s*['\"]?(https?:)?//", styles)


@pytest.mark.parametrize(
    "link",
    [
        pytest.param("(nowhere.md)", id="a page that does not exist"),
        pytest.param("(concepts.md#nowhere)", id="a heading that does not exist"),
        pytest.param("(../README.md)", id="a page outside of docs"),
    ],
)
def test_a_link_to_what_is_not_there_fails_the_build_and_names_its_page(checkout, link) -> None:
    with (checkout / "docs" / "install.md").open("a") as page:
        page.write(f"\n[broken]{link}\n")

    with pytest.raises(site.SiteError, match=r"install\.md") as refused:
        site.build(checkout)
    assert "\x1b" not in str(refused.value)
    assert "Traceback" not in str(refused.value)

"""The pages of the site in a real browser: none is wider than the screen of a telephone."""

import http.server
import json
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

from tools.docsgen import site

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.slow

PATIENCE = 300
NARROW = 360
# Loads each page in a frame of the width, one after the other, and writes down which are wider.
MEASURE = """<!doctype html><script>
addEventListener("load", async () => {
  const wide = [];
  for (const page of PAGES) {
    const frame = document.createElement("iframe");
    frame.style = "width: WIDTHpx; height: 800px; border: 0";
    await new Promise((loaded) => {
      frame.onload = loaded;
      frame.src = page;
      document.body.append(frame);
    });
    if (frame.contentDocument.documentElement.scrollWidth > WIDTH) wide.push(page);
    frame.remove();
  }
  const answer = document.createElement("pre");
  answer.textContent = JSON.stringify({count: PAGES.length, wide});
  document.body.append(answer);
});
</script><body>"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """Serves files and logs nothing."""

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def browser() -> str:
    """Return the browser's program; without one the test is skipped."""
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("there is no chromium: install Debian's package chromium")
    return program


@contextmanager
def served(folder: Path) -> Iterator[str]:
    """Serve a folder on the loopback for as long as the block lasts; yields the address."""
    with http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Quiet, directory=str(folder))
    ) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def wider(browser: str, folder: Path, pages: list[str], profile: Path) -> list[str]:
    """Return those of the pages that are wider than NARROW pixels."""
    script = MEASURE.replace("PAGES", json.dumps(pages)).replace("WIDTH", str(NARROW))
    (folder / "measure.html").write_text(script)
    with served(folder) as address:
        done = subprocess.run(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}",
             f"--timeout={PATIENCE * 1000}", f"--virtual-time-budget={PATIENCE * 1000}",
             "--dump-dom", f"{address}/measure.html"],
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip
    found = re.search(r"<pre>(.*?)</pre>", done.stdout)
    assert found, done.stderr
    answer = json.loads(found[1])
    assert answer["count"] == len(pages)
    wide: list[str] = answer["wide"]
    return wide


def test_no_page_overflows_a_screen_of_360_pixels_and_one_that_does_is_found(
    browser: str, tmp_path: Path
) -> None:
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    built = site.build(tmp_path)
    pages = sorted(f"/{page.relative_to(built)}" for page in built.rglob("index.html"))
    (built / "wide.html").write_text('<body><div style="width: 400px">wide</div>')

    assert wider(browser, built, [*pages, "/wide.html"], tmp_path / "profile") == ["/wide.html"]

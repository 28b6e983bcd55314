"""The page: complete in itself, drawn from the facts, and no text in it is more than a text."""

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from afresh.cli.report.branch_files import Notes
from afresh.cli.report.html_report import write_html
from afresh.cli.report.report import report_on
from tests.make import NOW, make_child, make_entry, make_package, make_record, seconds

HOSTILE = (
    "</title></style></pre></svg><script>alert(1)</script><img src=x onerror=alert(1)>"
    "\"'><a href='javascript:alert(1)'>&lt;b&gt; ]]> <!-- --> \x1b[31m\x00\x9b2J\u202e"
)


class Page(HTMLParser):
    """The page as a browser takes it apart: its elements with their attributes, and its texts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: value or "" for name, value in attrs}))

    def handle_data(self, data: str) -> None:
        self.texts.append(data)

    def shape(self) -> list[tuple[str, list[str]]]:
        return [(tag, sorted(attributes)) for tag, attributes in self.elements]

    def all(self, tag: str, class_: str | None = None) -> list[dict[str, str]]:
        return [
            attributes
            for name, attributes in self.elements
            if name == tag and class_ in (None, attributes.get("class"))
        ]


def page_of(text: str) -> str:
    """A page on which every text that anybody can write is `text`."""
    attempts = [
        {"number": 1, "outcome": "VerifyFailed", "startTime": "2030-01-02T03:00:00Z",
         "completionTime": "2030-01-02T03:00:42Z", "message": text, "summary": text,
         "warnings": [text], "logTail": text, "usage": {"inputTokens": 10, "outputTokens": 5},
         "verify": {"exitCode": 1, "durationSeconds": 1, "tail": text}},
        {"number": 2, "outcome": "Success", "startTime": "2030-01-02T03:01:00Z",
         "completionTime": "2030-01-02T03:01:42Z", "summary": text, "logTail": text},
    ]  # fmt: skip
    one_line = "".join(ch for ch in text if ch.isprintable())[:100]
    record = make_record("A", phase="Done", attempts=2, reason=text[:40], commit=text[:40],
                         message=text)  # fmt: skip
    package = make_package(
        [make_entry("A", title=one_line, prompt=text)], goal=text, guidance=[text],
        status={
            "phase": "Stalled", "reason": text[:40], "headCommit": text[:40],
            "conditions": [{"type": "Ready", "status": "False", "message": text}],
            "reviews": [{"id": "A", "reason": text[:40], "message": text}],
            "subtasks": [record.to_manifest()],
        },
    )  # fmt: skip
    child = make_child(package, "A", attempts=attempts,
                       transitions=[{"time": "2030-01-02T03:00:42Z", "to": "Pending",
                                     "reason": text[:40]}])  # fmt: skip
    return write_html(report_on(package, [child], Notes(discovery=text, ideas=text), NOW))


def test_page_has_the_same_elements_whatever_its_texts_say():
    hostile, harmless = page_of(HOSTILE), page_of("x" * len(HOSTILE))

    assert Page(hostile).shape() == Page(harmless).shape()
    assert all(ch.isprintable() or ch == "\n" for ch in hostile)
    assert any("<script>alert(1)</script>" in text for text in Page(hostile).texts)


def test_page_needs_nothing_else_and_forbids_it():
    page = page_of("A text.")
    taken_apart = Page(page)

    names = {name for _, attributes in taken_apart.elements for name in attributes}
    tags = {tag for tag, _ in taken_apart.elements}
    assert names.isdisjoint({"src", "href", "xlink:href", "srcset", "action", "style", "onload"})
    assert tags.isdisjoint({"script", "link", "iframe", "img", "object", "base", "form"})
    css = re.findall(r"<style>(.*?)</style>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(css[0].encode()).digest()).decode()
    (policy,) = [item["content"] for item in taken_apart.all("meta") if "http-equiv" in item]
    assert len(css) == 1
    assert "url(" not in css[0]
    assert "@import" not in css[0]
    assert "</" not in css[0]
    assert policy.startswith(f"default-src 'none'; style-src 'sha256-{digest}'")


def test_every_subtask_has_a_lane_and_every_attempt_a_bar_of_its_ending():
    ends = {"A": ("Done", ["VerifyFailed", "Success"]), "B": ("NeedsReview", ["Blocked"]),
            "C": ("Pending", ["Transient"]), "D": ("Pending", [])}  # fmt: skip
    package = make_package(
        [make_entry(id) for id in ends],
        status={"subtasks": [
            make_record(id, phase=phase, attempts=len(outcomes)).to_manifest()
            for id, (phase, outcomes) in ends.items()
        ]},
    )  # fmt: skip
    children = [
        make_child(package, id, attempts=[
            {"number": n, "outcome": outcome, "startTime": f"2030-01-02T03:0{n}:00Z",
             "completionTime": f"2030-01-02T03:0{n}:30Z"}
            for n, outcome in enumerate(outcomes)
        ])
        for id, (_, outcomes) in ends.items()
    ]  # fmt: skip

    page = Page(write_html(report_on(package, children, Notes(), NOW)))

    lanes = [item["aria-label"] for item in page.all("svg") if item.get("preserveaspectratio")]
    assert [lane.partition(":")[0] for lane in lanes] == ["A", "B", "C", "D"]
    assert "attempt 0: VerifyFailed, 30 s" in lanes[0]
    assert lanes[3] == "D: nothing yet"
    bars = {kind: [float(bar["x"]) for bar in page.all("rect", kind) if float(bar["width"]) != 30]
            for kind in ("Done", "Failed", "Halted", "Uncounted")}  # fmt: skip
    assert [len(found) for found in bars.values()] == [1, 1, 1, 1]
    assert bars["Failed"][0] < bars["Done"][0]


def test_tokens_of_the_subtask_with_the_most_fill_its_bar():
    usage: dict[str, Any] = {"inputTokens": 100, "outputTokens": 300, "cacheReadTokens": 600}
    package = make_package([make_entry("A")])
    child = make_child(package, "A", attempts=[{"number": 1, "usage": usage}])

    page = Page(write_html(report_on(package, [child], Notes(), NOW)))

    kinds = ("input", "output", "cacheRead", "cacheWrite")
    bars = [page.all("rect", kind)[-1] for kind in kinds]
    assert [(float(bar["x"]), float(bar["width"])) for bar in bars] == [
        (0, 100), (100, 300), (400, 600), (1000, 0),
    ]  # fmt: skip


@pytest.mark.parametrize(("phase", "want"), [("Succeeded", True), ("Running", False)])
def test_page_has_the_line_that_gets_the_work_once_the_package_has_succeeded(
    phase: str, want: bool
):
    package = make_package(status={"phase": phase, "branch": "afresh/token-auth"})

    page = Page(write_html(report_on(package, [], Notes(), NOW)))

    line = "git fetch https://git.example.com/team/api.git afresh/token-auth"
    assert (line in page.texts) is want


def test_page_on_a_package_that_nothing_has_happened_to_says_so():
    page = write_html(report_on(make_package(), [], Notes(problem="git says: no."), NOW))

    assert "No episode has started." in page
    assert "git says: no." in page
    assert "Attempts</h2>" not in page


def test_page_on_two_hundred_subtasks_is_of_a_size_that_can_be_mailed():
    ids = [f"T{n:03d}" for n in range(200)]
    package = make_package([make_entry(id, title="t" * 100) for id in ids], maxEpisodes=200)
    attempts = [
        {"number": n, "outcome": "VerifyFailed", "startTime": "2030-01-02T03:00:00Z",
         "completionTime": "2030-01-02T03:00:42Z", "logTail": "l" * 2048}
        for n in range(2)
    ]  # fmt: skip
    children = [make_child(package, id, attempts=attempts) for id in ids]

    page = write_html(report_on(package, children, Notes(), NOW + seconds(9)))

    assert len(page) < 2_000_000

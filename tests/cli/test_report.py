"""The report: everything that a person needs, and no text that does more than be read."""

import json
from pathlib import Path
from typing import Any

import pytest

from afresh.api.work_package import WorkPackage
from afresh.cli.printable import markdown_line, plain_line, plain_lines, quoted
from afresh.cli.report.branch_files import Notes
from afresh.cli.report.markdown import write_markdown
from afresh.cli.report.report import PackageReport, report_on
from tests.make import NOW, make_child, make_entry, make_package, make_record

GOLDEN = Path(__file__).parent / "golden"
ESCAPE = "\x1b]0;owned\x07\x1b[31mred\x1b[0m\x9b2J\u202e\r"
NOTES = Notes(
    discovery="# Discovery\n\n## T001 Token model\n\nKeys live in `settings.py`.\n",
    ideas="# Ideas\n\n## T002 Store\n\n<b>Rotate</b> keys ![x](http://example.com/x.png)\n",
)


def records(*given: dict[str, Any]) -> list[dict[str, Any]]:
    return [make_record(**fields).to_manifest() for fields in given]


NONE = Notes()
CHILDREN = {
    "T001": [
        {"number": 1, "outcome": "Success", "startTime": "2030-01-02T03:00:00Z",
         "completionTime": "2030-01-02T03:00:42Z", "turns": 7, "summary": "`tokens.py` issues.",
         "usage": {"inputTokens": 900, "outputTokens": 100, "cacheReadTokens": 4000}},
    ],
    "T003": [
        {"number": 2, "outcome": "VerifyFailed", "startTime": "2030-01-02T03:00:50Z",
         "completionTime": "2030-01-02T03:01:50Z", "usage": {"inputTokens": 1_500_000},
         "warnings": ["store.py adds a class with a vague name: StoreManager."]},
        {"number": 3, "outcome": "Timeout", "startTime": "2030-01-02T03:02:00Z",
         "completionTime": "2030-01-02T03:12:00Z",
         "warnings": ["store.py adds a class with a vague name: StoreManager."]},
    ],
}  # fmt: skip


def told(package: WorkPackage, notes: Notes = NONE, **attempts: Any) -> PackageReport:
    """The report on a package, with the attempts of some of its subtasks."""
    children = [make_child(package, id, attempts=kept) for id, kept in attempts.items()]
    return report_on(package, children, notes, NOW)


def halted_package() -> WorkPackage:
    ids = ["T001", "T002", "T003", "T004", "T005"]
    titles = ["Token model", "Store | keys", "", "Commands [draft]", "Docs"]
    return make_package(
        [make_entry(id, title=title) for id, title in zip(ids, titles, strict=True)],
        status={
            "phase": "NeedsReview",
            "reason": "NeedsReview",
            "conditions": [
                {"type": "Ready", "status": "False", "reason": "NeedsReview",
                 "message": "T002, T003, T004 needs a person."},
            ],
            "progress": "1/5",
            "usage": {"episodes": 5, "transientRetries": 1, "inputTokens": 1_500_900,
                      "outputTokens": 100, "cacheReadTokens": 4000, "costUSD": "0.42"},
            "branch": "afresh/token-auth",
            "headCommit": "1f3c9a2b4d5e6f708192a3b4c5d6e7f8091a2b3c",
            "subtasks": records(
                {"id": "T001", "phase": "Done", "reason": "Verified", "attempts": 1,
                 "commit": "1f3c9a2b4d5e6f708192a3b4c5d6e7f8091a2b3c", "cost_usd": "0.42"},
                {"id": "T002", "phase": "NeedsReview", "reason": "Blocked", "attempts": 1},
                {"id": "T003", "phase": "Skipped", "reason": "TooManyFailures", "attempts": 3},
                {"id": "T004", "phase": "NeedsReview", "reason": "OutOfScope", "attempts": 1},
            ),
            "reviews": [
                {"id": "T002", "reason": "Blocked", "message": "Redis or files?"},
                {"id": "T003", "reason": "TooManyFailures", "message": "make test exits with 2."},
                {"id": "T004", "reason": "OutOfScope", "message": "It changed setup.py."},
            ],
        },
    )  # fmt: skip


def test_report_is_word_for_word_what_stands_in_its_golden_file():
    text = write_markdown(told(halted_package(), NOTES, **CHILDREN))

    assert text == (GOLDEN / "report.md").read_text().rstrip("\n")


def test_report_on_a_package_that_nothing_has_happened_to_has_all_its_parts():
    text = write_markdown(told(make_package(), Notes(problem="git says: fatal: no branch")))

    assert "- Phase: Pending" in text
    assert "| `[ ]` | T001" in text
    assert "## Waiting for a person\n\nNothing." in text
    assert text.count("git says: fatal: no branch") == 1


@pytest.mark.parametrize(("phase", "want"), [("Succeeded", True), ("Running", False)])
def test_report_has_the_line_that_gets_the_work_once_the_package_has_succeeded(
    phase: str, want: bool
):
    package = make_package(status={"phase": phase, "branch": "afresh/token-auth"})

    line = "git fetch https://git.example.com/team/api.git afresh/token-auth"
    assert (f"- Get it: `{line}`" in write_markdown(told(package)).splitlines()) is want


def test_stalled_package_says_first_what_is_wrong_and_how_to_go_on():
    condition = {"type": "Ready", "status": "False", "message": "The Secret git is missing."}
    status = {"phase": "Stalled", "reason": "Config", "conditions": [condition]}

    text = write_markdown(told(make_package(status=status)))

    assert "### token-auth: Config\n\n> The Secret git is missing." in text
    assert "`afresh retry -n team-a token-auth`" in text


def test_no_text_of_an_agent_reaches_a_terminal_as_more_than_text():
    title = "t" + ESCAPE.replace("\x1b", "").replace("\x07", "").replace("\r", "")
    entry = make_entry("T001", title=title)
    condition = {"type": "Ready", "status": "False", "message": ESCAPE}
    review = {"id": "T001", "reason": "Blocked", "message": ESCAPE}
    package = make_package(
        [entry], goal=ESCAPE,
        status={"phase": "Stalled", "conditions": [condition], "reviews": [review]},
    )  # fmt: skip
    attempt = {"number": 1, "outcome": "Blocked", "message": ESCAPE, "summary": ESCAPE,
               "warnings": [ESCAPE], "logTail": ESCAPE,
               "verify": {"exitCode": 1, "durationSeconds": 1, "tail": ESCAPE}}  # fmt: skip
    one = told(package, Notes(discovery=ESCAPE, ideas=f"a\n{ESCAPE}b", problem=ESCAPE))
    other = told(package, Notes(discovery=ESCAPE, ideas=f"a\n{ESCAPE}b"), T001=[attempt])

    for text in (write_markdown(one), write_markdown(other), *strings(other.to_json())):
        assert all(ch.isprintable() or ch == "\n" for ch in text)


def strings(value: Any) -> list[str]:
    if isinstance(value, dict):
        return [text for item in value.values() for text in strings(item)]
    if isinstance(value, list | tuple):
        return [text for item in value for text in strings(item)]
    return [value] if isinstance(value, str) else []


def test_report_as_json_has_the_same_facts_under_yaml_names():
    facts = told(halted_package(), NOTES, **CHILDREN)
    read = json.loads(json.dumps(facts.to_json()))

    assert read["phase"] == "NeedsReview"
    assert read["headCommit"].startswith("1f3c")
    assert [row["marker"] for row in read["subtasks"]] == ["[x]", "[!]", "[S]", "[!]", "[ ]"]
    assert read["waiting"][0]["message"] == "Redis or files?"
    assert read["notes"]["discovery"].endswith("Keys live in `settings.py`.")
    assert read["totals"]["costUSD"] == 0.42
    assert read["totals"]["tokens"]["cacheRead"] == 4000
    assert read["subtasks"][0]["history"][0]["start"] == "2030-01-02T03:00:00Z"


LIMITS = [
    pytest.param("Failed", "BudgetExceeded", "raise spec.budget, and it continues", id="budget"),
    pytest.param(
        "Failed", "EpisodeLimit", "raise spec.maxEpisodes, and it continues", id="episodes"
    ),
    pytest.param("Suspended", "Suspended", "afresh resume -n team-a token-auth", id="suspended"),
]


@pytest.mark.parametrize(("phase", "reason", "want"), LIMITS)
def test_package_that_has_come_to_a_halt_says_how_it_continues(phase: str, reason: str, want: str):
    text = write_markdown(told(make_package(status={"phase": phase, "reason": reason})))

    assert f"### token-auth: {reason}" in text
    assert want in text


def test_warning_that_several_attempts_gave_is_told_once():
    text = write_markdown(told(halted_package(), **CHILDREN))

    assert text.count("StoreManager") == 1


def test_attempts_of_one_batch_are_timed_from_each_ones_turn():
    package = make_package([make_entry("A"), make_entry("B")])
    job = {"number": 1, "jobName": "j", "startTime": "2030-01-02T03:00:00Z", "outcome": "Success"}
    second = make_child(
        package, "B", attempts=[{**job, "completionTime": "2030-01-02T03:01:00Z"}],
        transitions=[
            {"time": "2030-01-02T03:00:00Z", "to": "Queued"},
            {"time": "2030-01-02T03:00:40Z", "from": "Queued", "to": "Running"},
            {"time": "2030-01-02T03:01:00Z", "from": "Running", "to": "Done"},
        ],
    )  # fmt: skip
    first = make_child(package, "A", attempts=[{**job, "completionTime": "2030-01-02T03:00:40Z"}])

    report = report_on(package, [second, first], Notes(), NOW)

    assert [row.seconds for row in report.subtasks] == [40, 20]
    assert report.totals.seconds_in_episodes == 60


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("a\x1b[31mb\x1b[0mc", "abc", id="colour"),
        pytest.param("a\x1b]0;title\x07b", "ab", id="title"),
        pytest.param("a\nb\tc\x00d", "a b c d", id="lines, tabs and nulls"),
        pytest.param("a\u202eb\u2028c", "a b c", id="bidirectional override"),
    ],
)
def test_line_is_printed_without_what_controls_a_terminal(text: str, want: str):
    assert plain_line(text) == want


def test_lines_are_kept_and_their_control_characters_are_not():
    assert plain_lines("\n- a\x1b[2K\r\n\tb\x08\n\n") == "- a\n    b"


def test_text_in_markdown_makes_no_link_cell_code_or_element():
    assert markdown_line("[a](b) | `c` <d> *e*") == "\\[a](b) \\| \\`c\\` \\<d> \\*e\\*"


def test_quotation_holds_headings_elements_and_images_of_the_text_inside():
    text = "# Phase: Succeeded\n\n</blockquote>![x](y)"

    assert quoted(text) == "> # Phase: Succeeded\n>\n> \\</blockquote>!\\[x](y)"

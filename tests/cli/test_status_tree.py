"""The tree and the table: what they say, and that they fit whatever terminal there is."""

import io
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from afresh.cli.look.package_view import PackageView, view_of
from afresh.cli.look.pictures import AllPackages
from afresh.cli.look.status_table import table
from afresh.cli.look.status_tree import tree
from afresh.cli.look.terminal import write
from tests.cli.packages import busy_package, children_of, gated_class, long_package, ready
from tests.make import NOW, make_class, make_entry, make_package

GOLDEN = Path(__file__).parent / "golden"
MARKUP = "[red]a[/red] [link=https://e.example]b[/] :x: [/]"
ESCAPE = "\x1b]0;owned\x07\x1b[31mred\x1b[0m\x9b2J\u202e\r"


def text_of(lines: list[Text], width: int = 200) -> list[str]:
    """What a terminal of that width shows."""
    console = Console(file=io.StringIO(), width=width, color_system=None)
    write(console, lines)
    return console.file.getvalue().splitlines()


def busy() -> PackageView:
    package = busy_package()
    return view_of(package, NOW, children_of(package))


def halted(**status: object) -> PackageView:
    return view_of(
        make_package(
            metadata={"name": "docs"},
            status={
                "phase": "NeedsReview", "reason": "NeedsReview", "observedGeneration": 1,
                "conditions": ready("NeedsReview", "T001 needs a person."), "progress": "0/1",
                **status,
            },
        ),
        NOW,
    )  # fmt: skip


@pytest.mark.parametrize("width", [120, 79, 39])
def test_tree_is_word_for_word_what_stands_in_its_golden_file(width: int):
    text = "\n".join(text_of(tree(busy(), width), width)) + "\n"

    assert text == (GOLDEN / f"tree-{width}.txt").read_text()


def test_work_of_a_package_that_succeeded_can_be_got_by_the_command_shown_at_any_width():
    status = {"phase": "Succeeded", "branch": "afresh/token-auth"}
    view = view_of(make_package(status=status), NOW)
    url = "https://git.example.com/team/api.git"

    assert f"git fetch {url} afresh/token-auth" in text_of(tree(view, 79))
    narrow = "\n".join(text_of(tree(view, 50), 50))
    assert f"git fetch {url} \\\n  afresh/token-auth\n" in f"{narrow}\n"
    assert "git fetch" not in str(text_of(tree(busy(), 79)))


def test_colours_say_again_what_the_words_say():
    console = Console(
        file=io.StringIO(), width=79, force_terminal=True, color_system="standard", no_color=False
    )

    write(console, tree(busy(), 79))

    assert console.file.getvalue() == (GOLDEN / "tree-colours.txt").read_text()


@pytest.mark.parametrize("height", [60, 24, 12])
def test_long_package_is_folded_around_what_runs_and_what_waits_for_a_person(height: int):
    text = "\n".join(text_of(tree(view_of(long_package(), NOW, ()), 79, height), 79)) + "\n"

    assert text == (GOLDEN / f"tree-long-{height}.txt").read_text()
    assert text.count("\n") == height


@pytest.mark.parametrize("width", range(1, 130, 7))
@pytest.mark.parametrize("height", [1, 3, 7, 40, None])
def test_no_line_is_wider_and_no_picture_higher_than_the_terminal(width: int, height: int | None):
    views = [busy(), halted()]

    for lines in (tree(views[0], width, height), table(views, (width, height))):
        shown = text_of(lines, width)
        assert all(cell_len(text) <= width for text in shown)
        assert len(shown) == len(lines) <= (height or len(lines))


def test_package_that_was_edited_a_moment_ago_does_not_say_what_held_before():
    package = busy_package(observedGeneration=0)

    text = "\n".join(text_of(tree(view_of(package, NOW, ()), 100)))

    assert "The operator has not looked at the last change yet." in text
    assert "T003 is running." not in text


@pytest.mark.parametrize(
    ("until", "step", "want"),
    [
        pytest.param("2030-01-02T03:05:05Z", 3, "is closed for 1m00s: RateLimited, refused 3 times"
                     " in a row", id="for a while"),
        pytest.param("2030-01-02T03:04:00Z", 1, "is closed until one package has tried:"
                     " RateLimited, refused once", id="due"),
    ],
)  # fmt: skip
def test_closed_gate_says_how_long_and_why(until: str, step: int, want: str):
    view = view_of(busy_package(), NOW, (), [gated_class(until, step)])

    assert f"the gate of Secret model-key {want}" in text_of(tree(view, 120))


def test_gate_of_another_secret_is_no_concern_of_the_package():
    other = gated_class("2030-01-02T03:05:05Z", secret="other")

    assert view_of(busy_package(), NOW, (), [other]).gate is None
    assert view_of(busy_package(), NOW, (), [make_class()]).gate is None


def test_table_has_a_row_for_each_package_and_says_what_one_that_waits_needs():
    text = "\n".join(text_of(table([halted(), busy()], (100, None), namespaces=True))) + "\n"

    assert text == (GOLDEN / "table.txt").read_text()


def test_table_of_many_packages_keeps_those_that_run_or_wait_for_a_person():
    views = [halted(), busy()]
    many = [
        view_of(make_package(metadata={"name": f"p-{number:02}"},
                             status={"phase": "Succeeded", "progress": "1/1"}), NOW)
        for number in range(30)
    ]  # fmt: skip

    text = "\n".join(text_of(table([*many[:15], *views, *many[15:]], (100, 8))))

    assert "docs" in text
    assert "T001 needs a person." in text
    assert "token-auth" in text
    assert "more packages" in text


def test_no_text_of_an_agent_reaches_a_terminal_as_more_than_text():
    package = make_package(
        [make_entry(title="t\u202e\u200b[31m")],
        status={
            "phase": "Stalled", "reason": "Config", "observedGeneration": 1,
            "conditions": ready("Config", ESCAPE), "current": ESCAPE, "progress": "0/1",
            "subtasks": [{"id": "T001", "phase": "NeedsReview", "message": ESCAPE, "reason": "x"}],
        },
    )  # fmt: skip
    view = view_of(package, NOW, ())

    for text in text_of([*tree(view, 100), *table([view], (100, None))]):
        assert text.isprintable()


def test_what_a_drawing_library_would_read_as_markup_is_shown_as_it_stands():
    package = make_package(
        [make_entry(title=MARKUP)],
        status={
            "phase": "Stalled", "reason": "Config", "observedGeneration": 1,
            "conditions": ready("Config", MARKUP), "progress": "0/1",
            "subtasks": [{"id": "T001", "phase": "NeedsReview", "message": MARKUP, "reason": "x"}],
        },
    )  # fmt: skip
    view = view_of(package, NOW, ())

    shown = "\n".join(text_of([*tree(view, 150), *table([view], (150, None))]))

    assert shown.count(MARKUP) == 4


def test_a_package_that_cannot_be_read_has_its_row_beside_the_others() -> None:
    stored = busy_package().to_manifest()
    newer = make_package(metadata={"name": "newer", "uid": "other"}).to_manifest()
    newer["spec"]["context"] = {"mode": "Telepathy"}
    for item in (stored, newer):
        item["metadata"]["resourceVersion"] = "1"
    picture = AllPackages(None)

    views = picture.views(lambda _: [newer, stored], [], NOW)

    lines = text_of(picture.lines(views, (100, None)))
    assert [(view.phase, view.reason) for view in views] == [
        ("Stalled", "InvalidSpec"), ("Running", "EpisodeRunning"),
    ]  # fmt: skip
    assert any("cannot be read: spec.context.mode" in line for line in lines)
    assert any("2/6" in line for line in lines)

"""What is left out of a long list, and in which order."""

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from rich.text import Text

from afresh.cli.look.terminal import line
from afresh.cli.look.truncate import Group, truncate


def group(key: str, rank: int = 2, *notes: str, noted: bool = False) -> Group:
    return Group(key, rank, tuple(line(text) for text in (key, *notes)), noted=noted)


def names(keys: Sequence[str]) -> Text:
    return line("..." + "".join(keys))


def texts(groups: list[Group], room: int) -> list[str]:
    return [text.plain for text in truncate(groups, room, names)]


def test_list_that_fits_is_left_as_it_is():
    assert texts([group("a", 1, "why"), group("b")], 3) == ["a", "why", "b"]


def test_notes_go_before_what_they_are_about():
    groups = [group("a", 2, "why"), group("b"), group("c")]

    assert texts(groups, 3) == ["a", "b", "c"]


def test_notes_that_matter_as_much_stay_and_what_is_of_less_interest_goes():
    groups = [group("a", 1, "why", noted=True), group("b"), group("c")]

    assert texts(groups, 3) == ["a", "why", "...bc"]


def test_what_is_near_the_first_of_the_lowest_rank_stays():
    groups = [group(key) for key in "abcd"] + [group("X", 0)] + [group(key) for key in "efgh"]

    assert texts(groups, 5) == ["...abc", "d", "X", "e", "...fgh"]


def test_more_of_interest_than_there_is_room_is_named_together():
    assert texts([group(key, 0) for key in "abcdef"], 3) == ["a", "b", "...cdef"]


@given(
    ranks=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.booleans()), min_size=1),
    room=st.integers(1, 30),
)
def test_every_item_is_shown_or_named_and_no_more_lines_than_there_is_room(
    ranks: list[tuple[int, int, bool]], room: int
):
    groups = [
        group(f"<{index}>", rank, *["note"] * notes, noted=noted)
        for index, (rank, notes, noted) in enumerate(ranks)
    ]

    lines = texts(groups, room)

    assert len(lines) <= room
    shown = "".join(text for text in lines if text != "note")
    assert shown.replace("...", "") == "".join(item.key for item in groups)

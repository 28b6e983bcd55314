from collections import Counter

import pytest

from afresh.contract.words import Outcome
from afresh.core.reason_table import ROWS, Subject
from afresh.core.reasons import Reason
from tests.core.exploration.explore import explored
from tools.docsgen import reason_phases

REASONS = sorted({str(reason) for reason in (*Reason, *Outcome)})


def test_the_table_of_reasons_has_one_row_for_each_reason_and_no_other() -> None:
    rows = Counter(row.reason for row in ROWS)

    assert rows == Counter(REASONS)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.reason} is of what its row says")
def test_a_reason_is_given_to_just_what_its_row_says(row) -> None:
    seen = {subject for subject, _, reason in explored().facts if reason == row.reason}

    assert seen == row.of


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.reason} in sentences")
def test_a_row_says_in_sentences_when_it_appears_and_what_to_do(row) -> None:
    assert row.when.endswith(".")
    assert row.remedy.endswith(".")
    assert "|" not in row.when + row.remedy, "it would end the cell of the table"


@pytest.mark.parametrize(
    ("subject", "table"),
    [
        pytest.param(Subject.PACKAGE, reason_phases.OF_PACKAGES, id="packages"),
        pytest.param(Subject.SUBTASK, reason_phases.OF_SUBTASKS, id="subtasks"),
    ],
)
def test_the_phases_that_are_shown_are_those_in_which_the_loop_gives_a_reason(subject, table):
    given = {(phase, reason) for of, phase, reason in explored().facts if of is subject}

    assert {(phase, name) for phase, names in table.items() for name in names} == given


def test_the_loop_gives_no_reason_that_has_no_row() -> None:
    wanted = {row.reason for row in ROWS}

    assert {reason for subject, _, reason in explored().facts if subject in Subject} <= wanted

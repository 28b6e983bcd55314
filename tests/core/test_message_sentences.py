"""Every sentence of the code that reaches a user: what is so; what to do. None can be left out."""

import re

import pytest

from afresh.api.conditions import SHORT
from afresh.contract.sentences import with_details
from tests.core.sentences import HOLE, Sentence, sentences
from tests.core.test_message_producers import CASES, cause
from tests.core.test_runner_messages import CASES as CASES_OF_RUNNER

# There is nothing to do, or it is a part of a message that says what.
NO_REMEDY = frozenset(
    {
        "Packages may use this class.",
        "The acceptance command passed.",
        "The package is being deleted.",
        "No episode starts while spec.suspend is true.",
        "Every subtask is done, or skipped by its user.",
        "Every subtask is done.",
        "Its revision was raised.",
        "Its user cancelled it.",
        "Another subtask of its batch was changed.",
        "The package or its class was edited before its agent started.",
        "The subtask was removed.",
        "Its Subtasks are being created.",
        "The episode ended before it came to this subtask.",
        "The agent did not start before its deadline.",
        "The plan on the branch is being updated to match the status.",
        "The log of the runner shows why.",
        f"The episode of {HOLE} is being stopped.",
        f"{HOLE}: a fresh agent works on it.",
        f"The server of {HOLE} refuses {HOLE}.",
        f"The verified work of {HOLE} is kept on {HOLE}.",
        # The value is the remedy: see the table.
        f"{HOLE}, or make it available to the nodes: the container {HOLE} cannot start.",
        f"Nothing new uses or implements the interface {HOLE} in {HOLE}.",
    }
)
# The remedy comes first, and what is so after a colon or in the details.
REMEDY_FIRST = re.compile(r"(Correct|Have|Lower|Make|Raise|Recreate|Repair) ")
# The longest of what may stand in a remedy.
IN_REMEDY = "the chart's runner.image and spec.repository.secretName of the WorkPackage"
FORMED = [item for item in sentences() if item.text not in NO_REMEDY]


def filled(sentence: Sentence) -> tuple[str, str]:
    """Return what to do, and a message whose causes are as long as can be."""
    what, mark, remedy = sentence.text.partition("; ")
    remedy = remedy.replace(HOLE, IN_REMEDY)
    told = what.replace(HOLE, cause("exceeds", 3).replace("; ", ", "))
    return remedy, with_details(told + mark + remedy, cause("denied", 4))


@pytest.mark.parametrize("sentence", [pytest.param(item, id=item.where) for item in FORMED])
def test_a_sentence_says_what_to_do_and_keeps_it_in_the_shortest_place(sentence: Sentence) -> None:
    remedy, message = filled(sentence)

    cut = SHORT.cut(message)
    if remedy:
        assert "; " not in remedy
        assert cut.partition("; ")[2].startswith(remedy)
    else:
        assert REMEDY_FIRST.match(cut)


def test_every_sentence_with_a_value_that_a_runner_says_has_its_producer_in_the_table() -> None:
    told = [case.values[0]("", 2) for case in (*CASES, *CASES_OF_RUNNER)]
    asked = [
        item
        for item in FORMED
        if HOLE in item.text and item.where.startswith(("adapters/", "episode/"))
    ]

    assert [item.where for item in asked if not any(map(item.is_in, told))] == []


def test_what_needs_no_remedy_is_in_the_code() -> None:
    assert NO_REMEDY - {item.text for item in sentences()} == set()

"""How much work one context is given: the modes, epics, and what is left out of a batch."""

from typing import Any

import pytest

from afresh.api.phases import SubtaskPhase
from afresh.api.subtask import SubtaskEntry
from afresh.api.work_package import ContextSpec
from afresh.core.history import graph
from afresh.core.history.plan_state import epic_of
from afresh.core.planner import decide
from afresh.core.policy.batches import MOST_IN_BATCH, batches
from tests.make import (
    NOW,
    make_class,
    make_entry,
    make_package,
    make_record,
    make_seen,
    seconds,
    starts_of,
)

CLAUDE = {"adapter": "Claude", "command": None, "credentials": {"secretName": "anthropic"}}
EPIC, PERSISTENT = "FreshPerEpic", "Persistent"


def many(count: int, **fields: Any) -> list[dict[str, Any]]:
    return [make_entry(f"T{number:03}", **fields) for number in range(1, count + 1)]


def sizes(entries: list[dict[str, Any]], **context: Any) -> list[int]:
    """The sizes of all batches from first to last, each begun when the one before is done."""
    package = make_package(entries, maxEpisodes=200)
    records = {entry.id: make_record(entry.id) for entry in package.spec.subtasks}
    found = []
    while due := graph.ready(package.spec.subtasks, records):
        first = batches(package.spec.subtasks, records, due, ContextSpec.model_validate(context))[0]
        found.append(len(first))
        done = {e.id: make_record(e.id, phase=SubtaskPhase.DONE, reason="Verified") for e in first}
        records |= done
    return found


SIZES = [
    pytest.param(many(3), {}, [1, 1, 1], id="a context of its own for each"),
    pytest.param(many(20, epic="1"), {"mode": EPIC}, [8, 8, 4],
                 id="the first context and every later one hold at most eight"),
    pytest.param(many(20, epic="1"), {"mode": EPIC, "resetInterval": 0}, [20],
                 id="no interval, up to the whole epic"),
    pytest.param(many(30, epic="1"), {"mode": EPIC, "resetInterval": 0}, [25, 5],
                 id="never more than twenty-five"),
    pytest.param(many(30, epic="1"), {"mode": EPIC, "resetInterval": 200}, [25, 5],
                 id="an interval above twenty-five"),
    pytest.param([*many(3, epic="1"), make_entry("U1", epic="2"), make_entry("U2", epic="1")],
                 {"mode": EPIC}, [3, 1, 1], id="only consecutive ones of an epic"),
    pytest.param(many(30, epic="1"), {"mode": PERSISTENT, "resetInterval": 8}, [25, 5],
                 id="a persistent context knows no interval"),
    pytest.param([make_entry("A", epic="1"), make_entry("B", epic="2")], {"mode": PERSISTENT}, [2],
                 id="a persistent context goes on over epics"),
]  # fmt: skip


@pytest.mark.parametrize(("entries", "context", "want"), SIZES)
def test_contexts_hold_as_much_as_the_mode_says(
    entries: list[dict[str, Any]], context: dict[str, Any], want: list[int]
) -> None:
    assert sizes(entries, **context) == want
    assert max(want) <= MOST_IN_BATCH


EPICS = [
    ({"id": "T1", "epic": "auth"}, "auth", "the field"),
    ({"id": "T1", "epic": "auth", "title": "2.1 Tokens"}, "auth", "the field before the title"),
    ({"id": "3.2"}, "3", "the number before the first dot of the id"),
    ({"id": "S12.4", "title": "7.1"}, "12", "the id before the title"),
    ({"id": "T1", "title": "Story 2.1: import Story 7.3"}, "2", "the first dot of the title"),
    ({"id": "T1", "title": "Import Story 7.3 into 2.1"}, "7", "whatever comes first"),
    ({"id": "T1", "title": "No number. Story 2.1"}, "", "a first dot without a number"),
    ({"id": "T1", "title": "Tokens"}, "", "no dot at all"),
]


@pytest.mark.parametrize(("fields", "want", "_"), EPICS, ids=[item[2] for item in EPICS])
def test_an_epic_is_found_by_field_id_or_title(fields: dict[str, Any], want: str, _: str) -> None:
    assert epic_of(SubtaskEntry.model_validate({"prompt": "Do it.", **fields})) == want


def test_a_batch_takes_what_its_own_subtasks_make_ready_in_list_order() -> None:
    entries = [make_entry("A", dependsOn=["C"]), make_entry("B"), make_entry("C")]
    package = make_package(entries, context={"mode": PERSISTENT})

    assert starts_of(decide(make_seen(package, agent_class=make_class(**CLAUDE)))) == ["B+C+A"]


def test_what_waits_or_needs_what_waits_is_left_out_of_a_batch() -> None:
    entries = [make_entry("A"), make_entry("B"), make_entry("C", dependsOn=["A"]), make_entry("D")]
    package = make_package(entries, context={"mode": PERSISTENT})
    waits = make_record("A", reason="Infrastructure", not_before=NOW + seconds(9))

    decision = decide(make_seen(package, [waits], agent_class=make_class(**CLAUDE)))

    assert starts_of(decision) == ["B+D"]


def test_epics_run_beside_each_other_where_several_episodes_may() -> None:
    entries = [*many(3, epic="1"), make_entry("U1", epic="2"), make_entry("U2", epic="2")]
    package = make_package(entries, context={"mode": EPIC}, parallelism=2)

    decision = decide(make_seen(package, agent_class=make_class(**CLAUDE)))

    assert starts_of(decision) == ["T001+T002+T003", "U1+U2"]
    assert [record.phase for record in decision.records] == [
        "Running", "Queued", "Queued", "Running", "Queued"
    ]  # fmt: skip


def test_a_stalled_package_probes_with_one_subtask_whatever_the_mode() -> None:
    package = make_package(many(3), context={"mode": PERSISTENT})
    wrong = make_record("T001", reason="Auth", message="bad", not_before=NOW - seconds(1))

    decision = decide(make_seen(package, [wrong], agent_class=make_class(**CLAUDE)))

    assert starts_of(decision) == ["T001"]

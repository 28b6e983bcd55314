"""The index of gates: what is open, what is closed, and for whom."""

from datetime import UTC, datetime, timedelta
from typing import Any

from afresh.api.package_status import SharedWait
from afresh.kube.queue import Key
from afresh.kube.wait_index import WaitIndex

NOON = datetime(2030, 1, 2, 12, tzinfo=UTC)
GATE = ("team-a", "ImagePull", "example.com/agent:1")
FIRST, SECOND = Key("team-a", "first"), Key("team-a", "second")


def wait(since: datetime) -> SharedWait:
    return SharedWait(
        cause=GATE[1],
        key=GATE[2],
        since=since,
        until=since + timedelta(seconds=60),
        step=1,
        reason="Config",
        message="Correct it.",
    )


def body(since: datetime) -> dict[str, Any]:
    return {"status": {"wait": wait(since).to_manifest()}}


def opened_at_noon() -> WaitIndex:
    """Two packages wait; one has passed the gate, and has not written so yet."""
    index = WaitIndex()
    for package in (FIRST, SECOND):
        index.put(package, body(NOON))
    index.open("team-a", wait(NOON))
    return index


def test_a_gate_that_was_opened_stays_open_for_those_who_have_not_looked_since() -> None:
    index = opened_at_noon()

    index.put(SECOND, body(NOON))

    assert index.closed(GATE) is None


def test_a_gate_that_closes_again_is_closed_even_if_the_clock_was_set_back() -> None:
    index = opened_at_noon()
    earlier = NOON - timedelta(hours=1)

    index.put(FIRST, body(earlier))

    assert index.closed(GATE) == wait(earlier)

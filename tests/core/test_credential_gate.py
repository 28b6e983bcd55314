"""A credential's gate: when it closes, how long, who may try it, and what opens it."""

from datetime import datetime
from typing import Any

import pytest

from afresh.api.agent_class import Gate
from afresh.api.phases import SubtaskPhase
from afresh.contract.report import Usage
from afresh.contract.words import Outcome
from afresh.core.decision import Decision, SetGate, StartEpisode
from afresh.core.names import probe_of
from afresh.core.observed import Episode, SharedLimits
from afresh.core.planner import decide
from afresh.core.reasons import Reason
from tests.make import (
    NOW,
    make_class,
    make_entry,
    make_episode,
    make_package,
    make_record,
    make_report,
    make_seen,
    seconds,
    starts_of,
)

CLAUDE = {"adapter": "Claude", "command": None, "credentials": {"secretName": "anthropic"}}


CLOSED = NOW - seconds(60)


def gate(step: int, until: datetime, since: datetime = CLOSED) -> Gate:
    return Gate(
        namespace="team-a",
        secret_name="anthropic",
        since=since,
        until=until,
        step=step,
        reason="RateLimited",
    )


PAST = gate(3, NOW - seconds(1))
AHEAD = gate(3, NOW + seconds(5))
FORMER = gate(3, NOW - seconds(60), since=NOW - seconds(600))
SILENT = Usage()


def ended(outcome: Outcome, probes: Gate | None = None, **report: Any) -> Episode:
    report_given = make_report(
        outcome, "A", **{"answered": report.get("usage") is not SILENT, **report}
    )
    return make_episode("A", report=report_given, **mark(probes))


def mark(probes: Gate | None) -> dict[str, Any]:
    return {"probe": probe_of(probes)} if probes else {}


def at_work(probes: Gate, turns: int, *, answered: bool) -> Episode:
    hint = make_report(final=False, results=(), usage=Usage(turns=turns), answered=answered)
    return make_episode("A", report=hint, **mark(probes))


def decided(*episodes: Episode, known: Gate | None = None, **fields: Any) -> Decision:
    package = make_package([make_entry("A"), make_entry("B")], parallelism=fields.pop("at_once", 1))
    running = make_record("A", phase=SubtaskPhase.RUNNING, attempts=1, reason="EpisodeRunning")
    shared_limits = SharedLimits(gate=known, gate_class="command" if known else "", **fields)
    return decide(
        make_seen(
            package,
            [running] if episodes else [],
            episodes=episodes,
            shared_limits=shared_limits,
            agent_class=make_class(**CLAUDE),
        )
    )


def change(decision: Decision) -> tuple[int, float] | str | None:
    """What becomes of the gate: its step and its seconds from now, or that it opens, or nothing."""
    found = [item for item in decision.actions if isinstance(item, SetGate)]
    if not found:
        return None
    assert decision.actions[0] is found[0], "a gate closes before anything else is done"
    new = found[0].gate
    return (new.step, (new.until - NOW).total_seconds()) if new else "opens"


RESET = (NOW + seconds(90)).timestamp()
CHANGES = [
    pytest.param(ended(Outcome.TRANSIENT), None, (1, 2), id="the first refusal closes it"),
    pytest.param(ended(Outcome.MODEL_SILENT), None, (1, 2), id="a model that says nothing too"),
    pytest.param(ended(Outcome.TRANSIENT, not_before=RESET), None, (1, 90),
                 id="until the provider's reset time"),
    pytest.param(ended(Outcome.TRANSIENT, PAST), PAST, (4, 16),
                 id="a refused probe makes it wait twice as long"),
    pytest.param(ended(Outcome.TRANSIENT, PAST), AHEAD, (4, 16),
                 id="a refused probe, although the gate was kept closed for longer meanwhile"),
    pytest.param(ended(Outcome.TRANSIENT), PAST, None,
                 id="an episode that started before it closed says nothing new"),
    pytest.param(ended(Outcome.TRANSIENT, not_before=RESET), AHEAD, (3, 90),
                 id="but for a later reset time"),
    pytest.param(ended(Outcome.TRANSIENT, gate(1, NOW - seconds(60))), AHEAD, None,
                 id="the probe of a gate that is long open again says nothing new"),
    pytest.param(ended(Outcome.SUCCESS, PAST), PAST, "opens", id="a probe that succeeds opens it"),
    pytest.param(ended(Outcome.VERIFY_FAILED, PAST, final=True), PAST, "opens",
                 id="a probe that the provider answered opens it, whatever became of it"),
    pytest.param(ended(Outcome.AUTH, PAST, usage=SILENT), PAST, "opens",
                 id="a refused key is an answer"),
    pytest.param(ended(Outcome.INFRASTRUCTURE, PAST, usage=SILENT), PAST, None,
                 id="a probe that is lost says nothing"),
    pytest.param(ended(Outcome.SUCCESS), PAST, None,
                 id="an episode that started before it closed does not open it"),
    pytest.param(ended(Outcome.SUCCESS, FORMER), AHEAD, None,
                 id="the probe of a former gate does not open it"),
    pytest.param(at_work(PAST, turns=1, answered=True), PAST, "opens",
                 id="a probe at work has an answer"),
    pytest.param(at_work(PAST, turns=0, answered=False), PAST, None,
                 id="a probe at work has none yet"),
    pytest.param(at_work(PAST, turns=9, answered=False), PAST, None,
                 id="requests that the probe's agent gave up are no answers"),
    pytest.param(ended(Outcome.AGENT_ERROR, PAST, answered=False, final=True), PAST, None,
                 id="and none when it has ended"),
    pytest.param(ended(Outcome.TRANSIENT, PAST, answered=True), PAST, (4, 16),
                 id="a provider that answered first and refuses at the end"),
    pytest.param(at_work(FORMER, turns=1, answered=True), AHEAD, None,
                 id="the probe of a former gate is at work for long"),
]  # fmt: skip


@pytest.mark.parametrize(("episode", "known", "want"), CHANGES)
def test_a_gate_closes_and_opens_by_what_providers_answer(
    episode: Episode, known: Gate | None, want: tuple[int, float] | str | None
) -> None:
    assert change(decided(episode, known=known)) == want


def test_taking_the_same_end_in_twice_closes_a_gate_once() -> None:
    episode = ended(Outcome.TRANSIENT)
    (closed,) = [item.gate for item in decided(episode).actions if isinstance(item, SetGate)]

    assert change(decided(episode, known=closed)) is None


@pytest.mark.parametrize("steps", range(1, 12))
def test_a_gate_waits_twice_as_long_each_time_up_to_five_minutes(steps: int) -> None:
    known = gate(steps, NOW - seconds(1))

    got = change(decided(ended(Outcome.TRANSIENT, known), known=known))

    assert got == (steps + 1, min(2 ** (steps + 1), 300))


WAITS = [
    pytest.param({"known": AHEAD}, [], id="it is not time yet"),
    pytest.param({"known": PAST}, ["A"], id="its turn to try"),
    pytest.param({"known": PAST, "gate_taken": True}, [], id="another package tries"),
    pytest.param({"known": PAST, "at_once": 2}, ["A"], id="one tries although two may run"),
    pytest.param({}, ["A"], id="an open gate"),
]


@pytest.mark.parametrize(("fields", "want"), WAITS)
def test_one_episode_tries_a_closed_gate_when_it_is_time(
    fields: dict[str, Any], want: list[str]
) -> None:
    decision = decided(**fields)

    assert starts_of(decision) == want
    known = fields.get("known")
    for item in decision.actions:
        if isinstance(item, StartEpisode):
            assert item.probe == (probe_of(known) if known else "")
    if not want:
        assert (decision.phase, decision.reason) == ("Pending", Reason.GATE_CLOSED)
        assert decision.recheck_after is not None


def test_a_refused_package_waits_at_the_gate_and_not_by_itself() -> None:
    decision = decided(ended(Outcome.TRANSIENT))

    assert decision.reason == Reason.GATE_CLOSED
    assert [(r.marker, r.not_before, r.consecutive_failures) for r in decision.records] == [
        ("[ ]", None, 0), ("[ ]", None, 0)
    ]  # fmt: skip


def test_nothing_starts_beside_a_live_episode_while_the_gate_is_closed() -> None:
    decision = decided(make_episode("A"), known=PAST, at_once=2)

    assert (decision.reason, starts_of(decision)) == (Reason.EPISODE_RUNNING, [])


BUSY = [
    pytest.param(0, 1, [], id="no room"),
    pytest.param(1, 3, ["A"], id="room for one of two"),
    pytest.param(5, 3, ["A", "B"], id="room for all"),
    pytest.param(None, 3, ["A", "B"], id="a class without a limit"),
]


@pytest.mark.parametrize(("free", "at_once", "want"), BUSY)
def test_a_package_starts_as_many_episodes_as_its_class_has_room_for(
    free: int | None, at_once: int, want: list[str]
) -> None:
    decision = decided(class_free=free, at_once=at_once)

    assert starts_of(decision) == want
    if not want:
        assert (decision.phase, decision.reason) == ("Pending", Reason.CLASS_BUSY)


def test_a_package_that_backs_off_is_not_in_line_for_its_class() -> None:
    waits = make_record("A", reason="Infrastructure", not_before=NOW + seconds(9), message="Lost.")
    seen = make_seen(
        make_package([make_entry("A")]), [waits], shared_limits=SharedLimits(class_free=0),
        agent_class=make_class(**CLAUDE),
    )  # fmt: skip

    assert decide(seen).reason == Reason.BACKING_OFF

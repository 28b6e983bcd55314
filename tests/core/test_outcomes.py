"""The outcome table, row by row: from the evidence to the marker, the counter and the next step.

One row says everything that a user sees of one way in which an episode can end.
"""

from dataclasses import dataclass
from typing import Any

import pytest

from afresh.api.phases import SubtaskPhase
from afresh.contract.outcomes import PRECEDENCE, TABLE
from afresh.contract.words import Outcome
from afresh.core.decision import StartEpisode
from afresh.core.history.plan_state import wanted_digest
from afresh.core.observed import Episode
from afresh.core.planner import decide
from afresh.core.status import package_status
from tests.make import (
    NOW,
    make_container,
    make_entry,
    make_episode,
    make_package,
    make_pod,
    make_record,
    make_report,
    make_seen,
    seconds,
)

TWO = make_package([make_entry("A"), make_entry("B")])
# The runner pushes a plan that says what becomes of the package.
PUSHED = wanted_digest(TWO, (make_record("A", phase=SubtaskPhase.NEEDS_REVIEW), make_record("B")))
RUNNER_ENDED = make_container("runner", "Terminated", exit_code=1)
OOM = make_container("agent", "Terminated", reason="OOMKilled", exit_code=0)


@dataclass(frozen=True, kw_only=True)
class Row:
    """`next` is what the package does: start the subtask again, start the other one, or wait."""

    marker: str
    reason: str
    event: str
    next: str
    failures: int = 1
    waits: int | None = None
    phase: str = "Running"
    type: str = "Warning"


def reports(outcome: Outcome, **fields: Any) -> Episode:
    return make_episode("A", report=make_report(outcome, "A", **fields), pod=make_pod(RUNNER_ENDED))


def shown(*containers: Any, **pod: Any) -> Episode:
    return make_episode("A", pod=make_pod(*containers, **pod))


def counted(outcome: str) -> Row:
    return Row(marker="[~]", reason="EpisodeRunning", event=outcome, next="A again", failures=2)


def outside(waits: int = 2, event: str = "Infrastructure") -> Row:
    return Row(marker="[ ]", reason=event, event=event, next="B", waits=waits)


def wrong(outcome: str) -> Row:
    return Row(marker="[ ]", reason=outcome, event=outcome, next="nothing", waits=30,
               phase="Stalled")  # fmt: skip


def free(outcome: str) -> Row:
    return Row(marker="[~]", reason="EpisodeRunning", event=outcome, next="A again")


BLOCKED = Row(marker="[!]", reason="Blocked", event="Blocked", next="B")
OUT = Row(marker="[!]", reason="OutOfScope", event="OutOfScope", next="nothing",
          phase="NeedsReview")  # fmt: skip
DONE = Row(marker="[x]", reason="Verified", event="Success", next="B", failures=0, type="Normal")
UNCHANGED = Row(marker="[x]", reason="NoChanges", event="NoChanges", next="B", failures=0)

ROWS = [
    (reports(Outcome.SUCCESS), DONE, "the runner reports success"),
    (reports(Outcome.NO_CHANGES, commit="beef"), UNCHANGED, "nothing to change, verified"),
    (reports(Outcome.NO_CHANGES), counted("NoChanges"), "nothing changed, without an explanation"),
    (reports(Outcome.BLOCKED), BLOCKED, "the agent needs a person"),
    (reports(Outcome.OUT_OF_SCOPE, plan_digest=PUSHED), OUT, "the agent left its scope"),
    *[
        (reports(outcome), counted(outcome), f"the runner reports {outcome}")
        for outcome in Outcome
        if TABLE[outcome].counts and outcome is not Outcome.NO_CHANGES
    ],
    (shown(RUNNER_ENDED, OOM), counted("OutOfMemory"), "the agent was killed for its memory"),
    (shown(reason="Evicted", phase="Failed"), counted("DiskFull"), "evicted for its disk"),
    (shown(RUNNER_ENDED, make_container("agent", "Terminated"), reason="DeadlineExceeded"),
     counted("Timeout"), "the pod's deadline, after the agent was seen"),
    (reports(Outcome.TRANSIENT), outside(event="Transient"), "the provider is overloaded"),
    (reports(Outcome.MODEL_SILENT),
     Row(marker="[ ]", reason="Transient", event="ModelSilent", next="B", waits=2),
     "the model takes requests and answers none"),
    (reports(Outcome.TRANSIENT, not_before=(NOW + seconds(70)).timestamp()),
     outside(70, "Transient"), "the provider says when it answers again"),
    (reports(Outcome.INFRASTRUCTURE), outside(), "the runner was told to stop"),
    (shown(disruption="EvictionByEvictionAPI"), outside(), "the node was drained"),
    (make_episode("A", failure="PodFailurePolicy", pod=None), outside(), "the Job was disrupted"),
    (make_episode("A", failure="BackoffLimitExceeded", pod=None), outside(), "the pod is gone"),
    (make_episode("A", failure="DeadlineExceeded", pod=None), outside(), "no pod came in time"),
    (reports(Outcome.AUTH), wrong("Auth"), "the key is refused"),
    (reports(Outcome.CONFIG), wrong("Config"), "a setting is wrong"),
    (shown(make_container("agent", "Waiting", reason="InvalidImageName")), wrong("Config"),
     "the image has no valid name"),
    (reports(Outcome.BRANCH_IN_USE), wrong("BranchInUse"), "the branch is another package's"),
    (reports(Outcome.BUDGET_EXCEEDED), free("BudgetExceeded"), "its budget share is used up"),
    (reports(Outcome.CONFLICT), free("Conflict"), "somebody else pushed"),
    (reports(Outcome.CANCELLED), free("Cancelled"), "it was cancelled"),
]  # fmt: skip


@pytest.mark.parametrize(("episode", "want", "_"), ROWS, ids=[row[2] for row in ROWS])
def test_an_end_gets_its_marker_counter_reason_event_and_next_step(
    episode: Episode, want: Row, _: str
) -> None:
    record = make_record(
        "A", phase=SubtaskPhase.RUNNING, attempts=1, reason="EpisodeRunning",
        consecutive_failures=1,
    )  # fmt: skip
    seen = make_seen(TWO, [record], episodes=(episode,))

    decision = decide(seen)

    (after, _other) = decision.records
    starts = [item.members[0] for item in decision.actions if isinstance(item, StartEpisode)]
    begun = {"A": "A again"}.get(starts[0].subtask, starts[0].subtask) if starts else "nothing"
    wait = (after.not_before - NOW).total_seconds() if after.not_before else None
    got = (after.marker, after.reason, after.consecutive_failures, wait, begun)
    assert got == (want.marker, want.reason, want.failures, want.waits, want.next)
    note = decision.notes[0]
    assert (note.type, note.reason, note.subtask) == (want.type, want.event, "A")
    assert note.message
    conditions = {item.type: item.status for item in package_status(seen, decision).conditions}
    assert conditions == {
        "Ready": "False",
        "Progressing": str(want.phase == "Running"),
        "Stalled": str(want.phase != "Running"),
    }
    assert decision.phase == want.phase


def test_every_outcome_has_a_row_here() -> None:
    assert {want.event for _, want, _ in ROWS} == {str(outcome) for outcome in Outcome}


@pytest.mark.parametrize("outcome", [item for item in Outcome if TABLE[item].counts])
def test_the_third_failure_in_a_row_skips_the_subtask_and_the_package_goes_on(
    outcome: Outcome,
) -> None:
    record = make_record(
        "A", phase=SubtaskPhase.RUNNING, attempts=3, reason="EpisodeRunning",
        consecutive_failures=2,
    )  # fmt: skip
    last = make_episode("A", 3, report=make_report(outcome, "A"), pod=make_pod(RUNNER_ENDED))

    decision = decide(make_seen(TWO, [record], episodes=(last,)))

    assert (decision.records[0].marker, decision.records[0].reason) == ("[S]", "TooManyFailures")
    assert decision.records[1].marker == "[~]"


CONTAINER = [item for item in Outcome if item in PRECEDENCE]


@pytest.mark.parametrize("outcome", CONTAINER)
def test_an_agent_killed_for_memory_explains_only_what_comes_after_it(outcome: Outcome) -> None:
    episode = make_episode(
        "A", report=make_report(outcome, "A"), pod=make_pod(OOM, RUNNER_ENDED), complete=True
    )
    record = make_record("A", phase=SubtaskPhase.RUNNING, attempts=1, reason="EpisodeRunning")

    (result,) = decide(
        make_seen(make_package([make_entry("A")]), [record], episodes=(episode,))
    ).attempt_results

    later = PRECEDENCE.index(outcome) > PRECEDENCE.index(Outcome.OUT_OF_MEMORY)
    assert result.ended.outcome is (Outcome.OUT_OF_MEMORY if later else outcome)

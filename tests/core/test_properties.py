"""What must hold of every decision, over generated packages and states."""

import random
from dataclasses import replace
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from afresh.api.agent_class import Gate
from afresh.api.package_status import WorkPackageStatus
from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.contract.order import Budget
from afresh.contract.outcomes import TABLE
from afresh.contract.words import ContextMode, Outcome
from afresh.core.decision import DeleteJob, StartEpisode
from afresh.core.history.replay import replay
from afresh.core.history.transitions import IN_EPISODE
from afresh.core.history.usage import tokens_of
from afresh.core.observed import Episode, Member, Observed, SharedLimits
from afresh.core.planner import decide
from afresh.core.status import package_status, subtask_statuses
from tests.core.contradictions import contradictions
from tests.make import (
    NOW,
    make_class,
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

IDS = ["A", "B", "C", "D"]
CLAUDE = {"adapter": "Claude", "command": None, "credentials": {"secretName": "anthropic"}}
REASONS = [
    "Waiting",
    "VerifyFailed",
    "Infrastructure",
    "Auth",
    "SkippedByUser",
    "Blocked",
    "OutOfScope",
    "Removed",
]

SKIPPED_FOR = ["SkippedByUser", "TooManyFailures", "Removed"]


@st.composite
def budgets(draw: st.DrawFn) -> dict[str, Any]:
    return {"budget": {"maxTokens": draw(st.integers(1, 40))}} if draw(st.booleans()) else {}


@st.composite
def shared(draw: st.DrawFn) -> SharedLimits:
    """What the other packages leave to this one."""
    until = NOW + seconds(draw(st.integers(-9, 9)))
    closed = Gate(namespace="team-a", secret_name="anthropic", since=NOW, until=until, step=1)
    return SharedLimits(
        gate=draw(st.none() | st.just(closed)),
        gate_class="command",
        gate_taken=draw(st.booleans()),
        class_free=draw(st.none() | st.integers(0, 3)),
    )


@st.composite
def packages(draw: st.DrawFn) -> Any:
    ids = IDS[: draw(st.integers(1, 4))]
    entries = []
    for index, name in enumerate(ids):
        shared_limits = (
            st.lists(st.sampled_from(ids[:index]), unique=True) if index else st.just([])
        )
        entries.append(
            make_entry(
                name,
                dependsOn=draw(shared_limits),
                revision=draw(st.integers(0, 2)),
                skip=draw(st.booleans()) and draw(st.booleans()),
            )
        )
    return make_package(
        entries,
        parallelism=draw(st.integers(1, 3)),
        suspend=draw(st.booleans()) and draw(st.booleans()),
        maxEpisodes=draw(st.integers(4, 6)),
        context={"mode": draw(st.sampled_from(ContextMode))},
        **draw(budgets()),
        status={"usage": {"episodes": draw(st.integers(0, 6))}},
    )


@st.composite
def records(draw: st.DrawFn, name: str) -> Any:
    phase = draw(st.sampled_from(SubtaskPhase))
    # A record gives each settled phase its own reasons.
    reasons = {SubtaskPhase.DONE: ["Verified"], SubtaskPhase.SKIPPED: SKIPPED_FOR}
    return make_record(
        name,
        phase=phase,
        attempts=draw(st.integers(0, 3)),
        observed_revision=draw(st.integers(0, 2)),
        consecutive_failures=draw(st.integers(0, 2)),
        transient_retries=draw(st.integers(0, 12)),
        reason=draw(st.sampled_from(reasons.get(phase, REASONS))),
        message="Because.",
        not_before=draw(st.none() | st.integers(-60, 60).map(lambda s: NOW + seconds(s))),
    )


@st.composite
def episodes(draw: st.DrawFn, name: str) -> Episode:
    outcome = draw(st.sampled_from(Outcome))
    report = draw(st.none() | st.just(make_report(outcome, subtask=name)))
    states = st.sampled_from(["Running", "Terminated", "Waiting"])
    pod = make_pod(
        *(make_container(container, draw(states)) for container in ("runner", "agent")),
        disruption=draw(st.none() | st.just("EvictionByEvictionAPI")),
    )
    attempt = draw(st.integers(1, 4))
    shared_limits = draw(st.lists(st.sampled_from(IDS), unique=True, max_size=2))
    batch = [name, *(item for item in shared_limits if item != name)]
    return make_episode(
        name,
        attempt=attempt,
        members=tuple(Member(subtask=item, attempt=attempt) for item in batch),
        budget=draw(st.none() | st.integers(1, 20).map(lambda n: Budget(max_tokens=n))),
        report=report,
        pod=draw(st.none() | st.just(pod)),
        **draw(
            st.sampled_from(
                [
                    {},
                    {"suspended": True},
                    {"complete": True},
                    {"failure": "BackoffLimitExceeded"},
                ]
            )
        ),
    )


@st.composite
def states(draw: st.DrawFn) -> Observed:
    package = draw(packages())
    names = [entry.id for entry in package.spec.subtasks]
    known = [draw(records(name)) for name in names if draw(st.booleans())]
    drawn = [item for name in names for item in draw(st.lists(episodes(name), max_size=2))]
    found: dict[tuple[str, int], Episode] = {}
    for episode in drawn:
        keys = [(member.subtask, member.attempt) for member in episode.members]
        if not any(key in found for key in keys):  # an attempt is in one episode only
            found |= dict.fromkeys(keys, episode)
    return make_seen(
        package,
        known,
        episodes=tuple({episode.name: episode for episode in found.values()}.values()),
        agent_class=draw(st.sampled_from([make_class(**CLAUDE)] * 4 + [None])),
        shared_limits=draw(shared()),
    )


def starts(seen: Observed) -> list[StartEpisode]:
    return [item for item in decide(seen).actions if isinstance(item, StartEpisode)]


@given(states())
def test_every_state_gets_an_answer_and_a_status_that_the_api_takes(seen: Observed) -> None:
    decision = decide(seen)

    status = package_status(seen, decision)
    assert decision.message
    assert WorkPackageStatus.model_validate(status.to_manifest()) == status
    assert [item.type for item in status.conditions] == ["Ready", "Progressing", "Stalled"]
    for child in subtask_statuses(seen, decision).values():
        assert type(child).model_validate(child.to_manifest()) == child


@given(states())
def test_no_decision_makes_a_status_contradict_itself(seen: Observed) -> None:
    wanted = {entry.id for entry in seen.package.spec.subtasks}
    before = contradictions_in(seen.package.status, wanted)

    after = contradictions_in(package_status(seen, decide(seen)), wanted)
    assert after - before == set()


def contradictions_in(status: WorkPackageStatus, wanted: set[str]) -> set[str]:
    return set(contradictions(status, wanted))


@given(states(), st.randoms(use_true_random=False))
def test_the_order_of_what_is_observed_changes_nothing(seen: Observed, dice: random.Random) -> None:
    shuffled = replace(
        seen,
        episodes=tuple(dice.sample(seen.episodes, len(seen.episodes))),
        subtasks=tuple(dice.sample(seen.subtasks, len(seen.subtasks))),
    )

    first, second = decide(seen), decide(shuffled)
    assert (first.phase, first.reason, first.records) == (
        second.phase,
        second.reason,
        second.records,
    )
    assert starts(seen) == starts(shuffled)


@given(states())
def test_no_more_episodes_are_live_than_may_run_beside_each_other(seen: Observed) -> None:
    begun = starts(seen)
    live = replay(seen).live

    members = [member.subtask for item in begun for member in item.members]
    assert len(set(members)) == len(members)
    at_work = {record.id for record in replay(seen).records if record.phase in IN_EPISODE}
    assert not set(members) & at_work
    if begun:
        assert len(live) + len(begun) <= seen.package.spec.parallelism
        free = seen.shared_limits.class_free
        assert free is None or len(begun) <= free
        assert seen.shared_limits.gate is None or len(begun) == 1


@given(states())
def test_what_is_set_aside_is_never_more_than_what_is_left(seen: Observed) -> None:
    limits, state = seen.package.spec.budget, replay(seen)
    begun = starts(seen)
    if limits is None or not begun:
        return
    held = [episode.budget for episode, _ in state.live if episode.budget]
    reserved = sum(budget.max_tokens or 0 for budget in held)
    given_out = [item.order.budget.max_tokens or 0 for item in begun if item.order.budget]
    assert len(given_out) == len(begun)
    assert min(given_out) > 0
    assert limits.max_tokens is not None
    assert reserved + sum(given_out) <= limits.max_tokens - tokens_of(state.usage)


@given(states())
def test_an_attempts_number_is_never_used_twice(seen: Observed) -> None:
    used = {(m.subtask, m.attempt) for episode in seen.episodes for m in episode.members}
    recorded = {record.id: record.attempts for record in seen.package.status.subtasks}

    for start in starts(seen):
        for member in start.members:
            assert (member.subtask, member.attempt) not in used
            assert member.attempt > recorded.get(member.subtask, 0)


@given(states())
def test_done_stays_done_unless_its_revision_is_raised(seen: Observed) -> None:
    wanted = {entry.id: entry.revision for entry in seen.package.spec.subtasks}
    adopted = {name for episode in seen.episodes for name in episode.subtasks}
    after = {record.id: record for record in decide(seen).records}

    for record in seen.package.status.subtasks:
        raised = wanted[record.id] > record.observed_revision
        if record.phase is SubtaskPhase.DONE and not raised and record.id not in adopted:
            assert after[record.id].phase is SubtaskPhase.DONE


@given(states())
def test_a_package_that_is_suspended_or_at_its_end_starts_nothing(seen: Observed) -> None:
    decision = decide(seen)

    at_rest = (PackagePhase.SUSPENDED, PackagePhase.SUCCEEDED, PackagePhase.NEEDS_REVIEW)
    if decision.phase in (*at_rest, PackagePhase.FAILED) or seen.package.spec.suspend:
        assert not starts(seen)


@given(states())
def test_a_counted_failure_at_the_limit_skips_the_subtask(seen: Observed) -> None:
    limit = seen.package.spec.max_consecutive_failures
    decision = decide(seen)
    last = {item.member.subtask: item.ended.outcome for item in decision.attempt_results}

    for record in decision.records:
        counted = record.id in last and TABLE[last[record.id]].counts
        at_rest = record.phase not in IN_EPISODE
        if counted and at_rest and record.consecutive_failures >= limit:
            assert record.phase is SubtaskPhase.SKIPPED


@given(states())
@settings(max_examples=settings.default.max_examples // 2)
def test_nothing_whose_end_was_not_recorded_is_deleted(seen: Observed) -> None:
    decision = decide(seen)
    recorded_now = {item.episode.name for item in decision.attempt_results}

    for action in decision.actions:
        if isinstance(action, DeleteJob):
            assert action.name not in recorded_now

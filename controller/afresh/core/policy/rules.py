"""The rules of the loop, one small function each, named as the fact that it finds.

A rule answers with the package's phase and what to do, or None when its fact does not hold.
The order of RULES is behaviour; a test pins it.
"""

from collections.abc import Callable

from afresh.api.package_status import SubtaskRecord
from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.contract.outcomes import is_overdue
from afresh.contract.words import Outcome
from afresh.core.decision import DeleteJob, RuleResult
from afresh.core.history.replay import PackageState
from afresh.core.history.shared_causes import refusal_trouble, refused_message
from afresh.core.history.transitions import IN_EPISODE, STALLING
from afresh.core.observed import Observed
from afresh.core.policy import budget, graph
from afresh.core.policy.push_refusals import push_refused
from afresh.core.policy.results import REFUSED_AGAIN, keep_running, until
from afresh.core.policy.scheduling import (
    can_afford,
    class_busy,
    first_start,
    gate_closed,
    no_capacity,
    shared_cause,
    subtask_ready,
)
from afresh.core.policy.spec_checks import (
    above_ceiling,
    branch_in_use,
    class_not_found,
    image_not_allowed,
    not_supported,
    spec_invalid,
    unpriced_model,
)
from afresh.core.reasons import Reason

Rule = Callable[[Observed, PackageState], RuleResult | None]


def being_deleted(seen: Observed, state: PackageState) -> RuleResult | None:
    """The user has deleted the package: stop what runs and start nothing."""
    if seen.package.metadata.deletion_timestamp is None:
        return None
    return RuleResult(
        phase=seen.package.status.phase or PackagePhase.PENDING,
        reason=Reason.BEING_DELETED,
        message="The package is being deleted.",
        actions=tuple(
            DeleteJob(name=episode.name, uid=episode.uid)
            for episode, _ in state.live
            if not episode.deleting
        ),
    )


def episode_running(seen: Observed, state: PackageState) -> RuleResult | None:
    """An episode is live, and no further one may run beside it."""
    if len(state.live) < max(1, seen.package.spec.parallelism):
        return None
    return keep_running(seen, state)


def stalled(seen: Observed, state: PackageState) -> RuleResult | None:
    """A key or a setting is wrong: nothing starts until it is corrected, but for a slow probe."""
    wrong = [record for record in state.records if record.reason in STALLING]
    if any(record.phase in IN_EPISODE for record in wrong):
        return keep_running(seen, state)
    # The last of them holds: each of several that went wrong together would probe by itself.
    due = max((record.not_before for record in wrong if record.not_before), default=seen.now)
    if due <= seen.now:
        return None
    first = wrong[0]
    return RuleResult(
        phase=PackagePhase.STALLED,
        reason=first.reason,
        message=state.message_of(first),
        recheck_after=until(due, seen.now),
    )


def suspended(seen: Observed, state: PackageState) -> RuleResult | None:
    """The user has asked for a pause; what runs may end."""
    if not seen.package.spec.suspend:
        return None
    if state.live:
        return keep_running(seen, state)
    return RuleResult(
        phase=PackagePhase.SUSPENDED,
        reason=Reason.SUSPENDED,
        message="Nothing starts while spec.suspend is true.",
    )


def out_of_scope(seen: Observed, state: PackageState) -> RuleResult | None:
    """An agent has touched what it may not: the package halts until a person has looked."""
    asking = [r for r in state.records if r.phase is SubtaskPhase.NEEDS_REVIEW]
    halted = [record.id for record in asking if record.reason == Outcome.OUT_OF_SCOPE]
    if not halted:
        return None
    if state.live:
        return keep_running(seen, state)
    others = [record.id for record in _waiting_for_a_person(state) if record.id not in halted]
    need = "needs" if len(others) == 1 else "need"
    besides = f", and {', '.join(others)} {need} a person too" if others else ""
    return RuleResult(
        phase=PackagePhase.NEEDS_REVIEW,
        reason=Reason.NEEDS_REVIEW,
        message=f"{', '.join(halted)} went out of its scope{besides}; review it and raise its "
        "revision, or skip it.",
    )


def episodes_spent(seen: Observed, state: PackageState) -> RuleResult | None:
    """Every episode that the package may have has been run, and there is more to do."""
    limit = seen.package.spec.max_episodes
    if state.usage.episodes + len(state.live) < limit:
        return None
    if not graph.ready(seen.package.spec.subtasks, state.by_id()):
        return None
    if state.live:
        return keep_running(seen, state)
    return RuleResult(
        phase=PackagePhase.FAILED,
        reason=Reason.EPISODE_LIMIT,
        message=f"spec.maxEpisodes is {limit} and as many episodes have run; raise it to go on.",
    )


def budget_spent(seen: Observed, state: PackageState) -> RuleResult | None:
    """The models' budget is used up, or too little is left of it, and there is more to do."""
    limits, records = seen.package.spec.budget, state.by_id()
    ready = [records[entry.id] for entry in graph.ready(seen.package.spec.subtasks, records)]
    if limits is None or not ready:
        return None
    spent = budget.is_spent(limits, state.usage)
    if not spent and any(can_afford(seen, state, record) for record in ready):
        return None
    if state.live:
        return keep_running(seen, state)
    return RuleResult(
        phase=PackagePhase.FAILED,
        reason=Reason.BUDGET_EXCEEDED,
        message="spec.budget is used up; raise it to go on."
        if spent
        else f"Too little is left of spec.budget for {ready[0].id}; raise it to go on.",
    )


def start_refused(seen: Observed, state: PackageState) -> RuleResult | None:
    """The API server did not let an object be created."""
    if seen.obstacle is None or refusal_trouble(seen.obstacle):
        return None
    return RuleResult(
        phase=PackagePhase.STALLED,
        reason=Reason.START_REFUSED,
        message=refused_message(seen.obstacle),
        recheck_after=REFUSED_AGAIN,
    )


def backing_off(seen: Observed, state: PackageState) -> RuleResult | None:
    """Something outside failed; the next episode waits."""
    if state.live:
        return keep_running(seen, state)
    waiting = [
        state.record(entry.id) for entry in graph.ready(seen.package.spec.subtasks, state.by_id())
    ]
    if not waiting:
        return None
    first = min(waiting, key=lambda record: record.not_before or seen.now)
    overdue = is_overdue(seen.package.status.waiting_since, seen.now)
    return RuleResult(
        phase=PackagePhase.STALLED if overdue else PackagePhase.PENDING,
        reason=Reason.BACKING_OFF,
        message=f"{first.id} waits before it starts: {state.message_of(first)}",
        recheck_after=until(first.not_before or seen.now, seen.now),
    )


def all_done(seen: Observed, state: PackageState) -> RuleResult | None:
    """Every subtask is done, or its user skipped it."""
    if state.live or not all(graph.satisfied(record) for record in state.records):
        return None
    return RuleResult(
        phase=PackagePhase.SUCCEEDED,
        reason=Reason.SUCCEEDED,
        message="Every subtask is done, or its user skipped it."
        if any(record.reason == Reason.SKIPPED_BY_USER for record in state.records)
        else "Every subtask is done.",
    )


def needs_review(seen: Observed, state: PackageState) -> RuleResult | None:
    """Nothing can run any more, and a person has to look."""
    ids = [record.id for record in _waiting_for_a_person(state)]
    need = "needs" if len(ids) == 1 else "need"
    return RuleResult(
        phase=PackagePhase.NEEDS_REVIEW,
        reason=Reason.NEEDS_REVIEW,
        message=f"{', '.join(ids)} {need} a person; see why in .status.reviews, add guidance or "
        "change what is asked and raise the revision, or skip it.",
    )


def _waiting_for_a_person(state: PackageState) -> list[SubtaskRecord]:
    settled = (SubtaskPhase.NEEDS_REVIEW, SubtaskPhase.SKIPPED)
    return [
        record
        for record in state.records
        if record.phase in settled and not graph.satisfied(record)
    ]


# First answer wins. The order is behaviour: a test pins it.
RULES: tuple[Rule, ...] = (
    being_deleted,
    spec_invalid,
    all_done,
    branch_in_use,
    class_not_found,
    image_not_allowed,
    above_ceiling,
    not_supported,
    unpriced_model,
    episode_running,
    push_refused,
    stalled,
    suspended,
    out_of_scope,
    episodes_spent,
    budget_spent,
    start_refused,
    shared_cause,
    gate_closed,
    class_busy,
    first_start,
    no_capacity,
    subtask_ready,
    backing_off,
    needs_review,
)

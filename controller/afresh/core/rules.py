"""The rules of the loop, one small function each, named as the fact that it finds.

A rule answers with the package's phase and what to do, or None when its fact does not hold.
The order of RULES is behaviour; a test pins it.
"""

from collections.abc import Callable

from afresh.api.package_status import SubtaskRecord
from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.contract.words import Outcome
from afresh.core import budget, graph
from afresh.core.actions import Answer, DeleteJob
from afresh.core.answers import REFUSED_AGAIN, go_on, until
from afresh.core.observed import Observed
from afresh.core.outcome import is_overdue
from afresh.core.preconditions import (
    above_ceiling,
    branch_in_use,
    class_not_found,
    image_not_allowed,
    not_supported,
    spec_invalid,
    unpriced_model,
)
from afresh.core.pushes import push_refused
from afresh.core.reasons import Reason
from afresh.core.records import IN_EPISODE, STALLING
from afresh.core.settle import Standing
from afresh.core.shared_causes import refusal_trouble, refused_message
from afresh.core.starts import (
    can_afford,
    class_busy,
    first_start,
    gate_closed,
    no_capacity,
    shared_cause,
    subtask_ready,
)

Rule = Callable[[Observed, Standing], Answer | None]


def being_deleted(seen: Observed, standing: Standing) -> Answer | None:
    """The user has deleted the package: stop what runs and start nothing."""
    if seen.package.metadata.deletion_timestamp is None:
        return None
    return Answer(
        phase=seen.package.status.phase or PackagePhase.PENDING,
        reason=Reason.BEING_DELETED,
        message="The package is being deleted.",
        actions=tuple(
            DeleteJob(name=episode.name, uid=episode.uid)
            for episode, _ in standing.live
            if not episode.deleting
        ),
    )


def episode_running(seen: Observed, standing: Standing) -> Answer | None:
    """An episode is live, and no further one may run beside it."""
    if len(standing.live) < max(1, seen.package.spec.parallelism):
        return None
    return go_on(seen, standing)


def stalled(seen: Observed, standing: Standing) -> Answer | None:
    """A key or a setting is wrong: nothing starts until it is corrected, but for a slow probe."""
    wrong = [record for record in standing.records if record.reason in STALLING]
    if any(record.phase in IN_EPISODE for record in wrong):
        return go_on(seen, standing)
    # The last of them holds: each of several that went wrong together would probe by itself.
    due = max((record.not_before for record in wrong if record.not_before), default=seen.now)
    if due <= seen.now:
        return None
    first = wrong[0]
    return Answer(
        phase=PackagePhase.STALLED,
        reason=first.reason,
        message=standing.message_of(first),
        recheck_after=until(due, seen.now),
    )


def suspended(seen: Observed, standing: Standing) -> Answer | None:
    """The user has asked for a pause; what runs may end."""
    if not seen.package.spec.suspend:
        return None
    if standing.live:
        return go_on(seen, standing)
    return Answer(
        phase=PackagePhase.SUSPENDED,
        reason=Reason.SUSPENDED,
        message="Nothing starts while spec.suspend is true.",
    )


def out_of_scope(seen: Observed, standing: Standing) -> Answer | None:
    """An agent has touched what it may not: the package halts until a person has looked."""
    asking = [r for r in standing.records if r.phase is SubtaskPhase.NEEDS_REVIEW]
    halted = [record.id for record in asking if record.reason == Outcome.OUT_OF_SCOPE]
    if not halted:
        return None
    if standing.live:
        return go_on(seen, standing)
    others = [record.id for record in _waiting_for_a_person(standing) if record.id not in halted]
    need = "needs" if len(others) == 1 else "need"
    besides = f", and {', '.join(others)} {need} a person too" if others else ""
    return Answer(
        phase=PackagePhase.NEEDS_REVIEW,
        reason=Reason.NEEDS_REVIEW,
        message=f"{', '.join(halted)} went out of its scope{besides}; review it and raise its "
        "revision, or skip it.",
    )


def episodes_spent(seen: Observed, standing: Standing) -> Answer | None:
    """Every episode that the package may have has been run, and there is more to do."""
    limit = seen.package.spec.max_episodes
    if standing.usage.episodes + len(standing.live) < limit:
        return None
    if not graph.ready(seen.package.spec.subtasks, standing.by_id()):
        return None
    if standing.live:
        return go_on(seen, standing)
    return Answer(
        phase=PackagePhase.FAILED,
        reason=Reason.EPISODE_LIMIT,
        message=f"spec.maxEpisodes is {limit} and as many episodes have run; raise it to go on.",
    )


def budget_spent(seen: Observed, standing: Standing) -> Answer | None:
    """The models' budget is used up, or too little is left of it, and there is more to do."""
    limits, records = seen.package.spec.budget, standing.by_id()
    ready = [records[entry.id] for entry in graph.ready(seen.package.spec.subtasks, records)]
    if limits is None or not ready:
        return None
    spent = budget.is_spent(limits, standing.usage)
    if not spent and any(can_afford(seen, standing, record) for record in ready):
        return None
    if standing.live:
        return go_on(seen, standing)
    return Answer(
        phase=PackagePhase.FAILED,
        reason=Reason.BUDGET_EXCEEDED,
        message="spec.budget is used up; raise it to go on."
        if spent
        else f"Too little is left of spec.budget for {ready[0].id}; raise it to go on.",
    )


def start_refused(seen: Observed, standing: Standing) -> Answer | None:
    """The API server did not let an object be created."""
    if seen.obstacle is None or refusal_trouble(seen.obstacle):
        return None
    return Answer(
        phase=PackagePhase.STALLED,
        reason=Reason.START_REFUSED,
        message=refused_message(seen.obstacle),
        recheck_after=REFUSED_AGAIN,
    )


def backing_off(seen: Observed, standing: Standing) -> Answer | None:
    """Something outside failed; the next episode waits."""
    if standing.live:
        return go_on(seen, standing)
    waiting = [
        standing.record(entry.id)
        for entry in graph.ready(seen.package.spec.subtasks, standing.by_id())
    ]
    if not waiting:
        return None
    first = min(waiting, key=lambda record: record.not_before or seen.now)
    overdue = is_overdue(seen.package.status.waiting_since, seen.now)
    return Answer(
        phase=PackagePhase.STALLED if overdue else PackagePhase.PENDING,
        reason=Reason.BACKING_OFF,
        message=f"{first.id} waits before it starts: {standing.message_of(first)}",
        recheck_after=until(first.not_before or seen.now, seen.now),
    )


def all_done(seen: Observed, standing: Standing) -> Answer | None:
    """Every subtask is done, or its user skipped it."""
    if standing.live or not all(graph.satisfied(record) for record in standing.records):
        return None
    return Answer(
        phase=PackagePhase.SUCCEEDED,
        reason=Reason.SUCCEEDED,
        message="Every subtask is done, or its user skipped it."
        if any(record.reason == Reason.SKIPPED_BY_USER for record in standing.records)
        else "Every subtask is done.",
    )


def needs_review(seen: Observed, standing: Standing) -> Answer | None:
    """Nothing can run any more, and a person has to look."""
    ids = [record.id for record in _waiting_for_a_person(standing)]
    need = "needs" if len(ids) == 1 else "need"
    return Answer(
        phase=PackagePhase.NEEDS_REVIEW,
        reason=Reason.NEEDS_REVIEW,
        message=f"{', '.join(ids)} {need} a person; see why in .status.reviews, add guidance or "
        "change what is asked and raise the revision, or skip it.",
    )


def _waiting_for_a_person(standing: Standing) -> list[SubtaskRecord]:
    settled = (SubtaskPhase.NEEDS_REVIEW, SubtaskPhase.SKIPPED)
    return [
        record
        for record in standing.records
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

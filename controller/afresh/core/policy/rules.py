"""The rules of the loop: one small function each, named after the fact that it finds.

A rule returns the package's phase and what to do, or None if its fact does not hold. The first rule
with a result applies, so the order of RULES is behaviour; a test pins it.
"""

from collections.abc import Callable

from afresh.api.package_status import SubtaskRecord
from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.contract.outcomes import is_overdue
from afresh.contract.words import Outcome
from afresh.core.decision import DeleteJob, RuleResult
from afresh.core.history import budget, graph
from afresh.core.history.shared_causes import refusal_trouble, refused_message
from afresh.core.history.transitions import IN_EPISODE, STALLING
from afresh.core.policy.push_refusals import push_refused
from afresh.core.policy.results import REFUSED_AGAIN, at_end, keep_running, once_idle, until
from afresh.core.policy.scheduling import (
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
from afresh.core.situation import Situation

Rule = Callable[[Situation], RuleResult | None]


def being_deleted(situation: Situation) -> RuleResult | None:
    """The user has deleted the package: stop what runs and start nothing."""
    if situation.package.metadata.deletion_timestamp is None:
        return None
    return RuleResult(
        phase=situation.package.status.phase or PackagePhase.PENDING,
        reason=Reason.BEING_DELETED,
        message="The package is being deleted.",
        may_push_plan=False,
        actions=tuple(
            DeleteJob(name=episode.name, uid=episode.uid)
            for episode, _ in situation.live
            if not episode.deleting
        ),
    )


def episode_running(situation: Situation) -> RuleResult | None:
    """An episode is live, and no other one may run at the same time."""
    if len(situation.live) < max(1, situation.spec.parallelism):
        return None
    return keep_running(situation)


def stalled(situation: Situation) -> RuleResult | None:
    """A key or a setting is wrong: until it is corrected, only slow probes start."""
    wrong = [record for record in situation.records if record.reason in STALLING]
    if any(record.phase in IN_EPISODE for record in wrong):
        return keep_running(situation)
    # The latest wait counts. Otherwise each of several subtasks that failed together would probe.
    due = max((record.not_before for record in wrong if record.not_before), default=situation.now)
    if due <= situation.now:
        return None
    first = wrong[0]
    return RuleResult(
        phase=PackagePhase.STALLED,
        reason=first.reason,
        message=situation.message_of(first),
        recheck_after=until(due, situation.now),
        may_push_plan=first.reason != Reason.BRANCH_IN_USE,
    )


def suspended(situation: Situation) -> RuleResult | None:
    """The user has suspended the package; running episodes continue."""
    if not situation.spec.suspend:
        return None
    paused = RuleResult(
        phase=PackagePhase.SUSPENDED,
        reason=Reason.SUSPENDED,
        message="No episode starts while spec.suspend is true.",
    )
    return once_idle(situation, paused)


def out_of_scope(situation: Situation) -> RuleResult | None:
    """An agent changed files outside its scope: the package halts until a person decides."""
    asking = [r for r in situation.records if r.phase is SubtaskPhase.NEEDS_REVIEW]
    halted = [record.id for record in asking if record.reason == Outcome.OUT_OF_SCOPE]
    if not halted:
        return None
    others = [record.id for record in _waiting_for_a_person(situation) if record.id not in halted]
    need = "needs" if len(others) == 1 else "need"
    besides = f", and {', '.join(others)} {need} a person, too" if others else ""
    return at_end(
        situation,
        PackagePhase.NEEDS_REVIEW,
        Reason.NEEDS_REVIEW,
        f"The agent of {', '.join(halted)} left its scope{besides}; review the attempt and raise "
        "the revision, or skip the subtask.",
    )


def episodes_spent(situation: Situation) -> RuleResult | None:
    """The package has had as many episodes as it may have, and there is more to do."""
    limit = situation.spec.max_episodes
    if situation.usage.episodes + len(situation.live) < limit:
        return None
    if not situation.ready:
        return None
    return at_end(
        situation,
        PackagePhase.FAILED,
        Reason.EPISODE_LIMIT,
        f"spec.maxEpisodes is {limit} and as many episodes have run; raise it to continue.",
    )


def budget_spent(situation: Situation) -> RuleResult | None:
    """The budget is used up, or too little of it is left, and there is more to do."""
    limits, usage = situation.spec.budget, situation.usage
    ready = [situation.by_id[entry.id] for entry in situation.ready]
    if limits is None or not ready:
        return None
    spent = budget.is_spent(limits, usage)
    if not spent and any(budget.can_afford(limits, usage, item.insufficient) for item in ready):
        return None
    return at_end(
        situation,
        PackagePhase.FAILED,
        Reason.BUDGET_EXCEEDED,
        "spec.budget is used up; raise it to continue."
        if spent
        else f"Too little is left of spec.budget for {ready[0].id}; raise it to continue.",
    )


def start_refused(situation: Situation) -> RuleResult | None:
    """The API server refused to create an object."""
    if situation.obstacle is None or refusal_trouble(situation.obstacle):
        return None
    return RuleResult(
        phase=PackagePhase.STALLED,
        reason=Reason.START_REFUSED,
        message=refused_message(situation.obstacle),
        may_push_plan=False,
        recheck_after=REFUSED_AGAIN,
    )


def backing_off(situation: Situation) -> RuleResult | None:
    """An external cause failed the last episode; the next one waits."""
    if situation.live:
        return keep_running(situation)
    waiting = [situation.by_id[entry.id] for entry in situation.ready]
    if not waiting:
        return None
    first = min(waiting, key=lambda record: record.not_before or situation.now)
    overdue = is_overdue(situation.package.status.waiting_since, situation.now)
    return RuleResult(
        phase=PackagePhase.STALLED if overdue else PackagePhase.PENDING,
        reason=Reason.BACKING_OFF,
        message=f"{first.id} waits before it starts: {situation.message_of(first)}",
        recheck_after=until(first.not_before or situation.now, situation.now),
    )


def all_done(situation: Situation) -> RuleResult | None:
    """Every subtask is done, or was skipped by its user."""
    if situation.live or not all(graph.satisfied(record) for record in situation.records):
        return None
    skipped = any(record.reason == Reason.SKIPPED_BY_USER for record in situation.records)
    return at_end(
        situation,
        PackagePhase.SUCCEEDED,
        Reason.SUCCEEDED,
        "Every subtask is done, or skipped by its user." if skipped else "Every subtask is done.",
    )


def needs_review(situation: Situation) -> RuleResult | None:
    """No subtask can run, and a person has to decide."""
    ids = [record.id for record in _waiting_for_a_person(situation)]
    need = "needs" if len(ids) == 1 else "need"
    return at_end(
        situation,
        PackagePhase.NEEDS_REVIEW,
        Reason.NEEDS_REVIEW,
        f"{', '.join(ids)} {need} a person; read .status.reviews, add guidance or change the "
        "prompt and raise the revision, or skip the subtask.",
    )


def _waiting_for_a_person(situation: Situation) -> list[SubtaskRecord]:
    asking = (SubtaskPhase.NEEDS_REVIEW, SubtaskPhase.SKIPPED)
    return [
        record
        for record in situation.records
        if record.phase in asking and not graph.satisfied(record)
    ]


# The first rule with a result applies. The order is behaviour: a test pins it.
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

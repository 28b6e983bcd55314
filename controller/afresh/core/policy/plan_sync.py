"""Whether the plan on the branch says what the status says, and the Job that brings it in line.

Episodes write the plan as they go. Where none could (a pod that was killed, a user's skip, an
edited title), the runner alone does it. Pure.
"""

from collections.abc import Sequence
from dataclasses import replace

from afresh.api.package_status import SubtaskRecord
from afresh.api.phases import ENDED, PackagePhase, SubtaskPhase
from afresh.api.work_package import WorkPackage
from afresh.contract import plan_file
from afresh.contract.report import Report
from afresh.core.decision import AttemptResult, RuleResult, StartSync
from afresh.core.history.replay import PackageState
from afresh.core.history.shared_causes import refused_message
from afresh.core.names import sync_name
from afresh.core.observed import Observed
from afresh.core.orders import goal_of, plan_of, probe_order, sync_order
from afresh.core.policy.results import GATE_AGAIN, REFUSED_AGAIN, until
from afresh.core.reasons import Reason

BEHIND = "The plan on the branch is being brought in line with the status."
# What has to be corrected before anything can be done for the package.
HOPELESS = frozenset(
    {
        Reason.BEING_DELETED,
        Reason.INVALID_SPEC,
        Reason.BRANCH_IN_USE,
        Reason.AGENT_CLASS_NOT_FOUND,
        Reason.IMAGE_NOT_ALLOWED,
        Reason.NOT_SUPPORTED,
        Reason.START_REFUSED,
    }
)
WORKED_ON = frozenset({SubtaskPhase.DONE, SubtaskPhase.NEEDS_REVIEW, SubtaskPhase.SKIPPED})


def with_sync(seen: Observed, state: PackageState, answer: RuleResult) -> RuleResult:
    """Return `answer`, with a sync where no episode runs and the plan is behind.

    A package is not said to be at its end before its branch says the same.
    """
    # Whoever comes second on a branch pushes nothing to it, though all of its own work is done.
    if (
        seen.rival
        or answer.reason in HOPELESS
        or state.live
        or answer.records
        or answer.actions
        or any(record.refused for record in state.records)
        or seen.agent_class is None
    ):
        return answer
    wanted = wanted_digest(seen.package, state.records)
    if not _behind(seen, state, wanted):
        return answer
    syncs = state.syncs
    record = syncs.record
    waits = record is not None and record.not_before is not None and record.not_before > seen.now
    if syncs.live or waits or seen.obstacle or state.waits.closed:
        start: tuple[StartSync, ...] = ()
    else:
        start = (_start(seen, state, wanted),)
    held = answer
    if waits and record and record.reason == Reason.BRANCH_IN_USE and answer.phase in ENDED:
        held = RuleResult(
            phase=PackagePhase.STALLED, reason=Reason.BRANCH_IN_USE, message=record.message
        )
    elif answer.phase in ENDED:
        gate = state.waits.strongest
        why = gate.message if gate else record.message if record else ""
        if seen.obstacle and not gate:
            why = refused_message(seen.obstacle)
        message = f"{BEHIND} It waits: {why}" if why else BEHIND
        held = RuleResult(phase=PackagePhase.PENDING, reason=Reason.PLAN_BEHIND, message=message)
    looks = [held.recheck_after] if held.recheck_after is not None else []
    if seen.obstacle:
        looks.append(REFUSED_AGAIN)
    if state.waits.closed:  # it does not stand at the gate, so nobody wakes it
        looks.append(GATE_AGAIN)
    if record and record.not_before and waits:
        looks.append(until(record.not_before, seen.now))
    return replace(held, actions=(*answer.actions, *start), recheck_after=min(looks, default=None))


def last_pushed(attempt_results: Sequence[AttemptResult]) -> Report | None:
    """Return the Report of the episode that pushed last, of those that pushed a plan."""
    reports = [item.ended.report for item in attempt_results if item.ended.report]
    pushed = [report for report in reports if report.plan_digest]
    return max(pushed, key=lambda report: report.phases.get("pushed", 0.0), default=None)


def wanted_digest(package: WorkPackage, records: Sequence[SubtaskRecord]) -> str:
    """Return the digest of the plan that the records make."""
    by_id = {record.id: record for record in records}
    plan = plan_file.Plan(goal=goal_of(package), lines=plan_of(package, by_id))
    return plan_file.digest(plan_file.render(plan))


def _behind(seen: Observed, state: PackageState, wanted: str) -> bool:
    last = last_pushed(state.attempt_results)
    known = state.syncs.pushed or (last and last.plan_digest) or seen.package.status.plan_digest
    begun = any(record.attempts and record.phase in WORKED_ON for record in state.records)
    return known != wanted if known else begun


def push_probe(seen: Observed, state: PackageState, *, probe: str = "") -> StartSync:
    """Return the start of a sync that finds out whether the server takes pushes.

    It has the runner alone and costs no agent. It delivers what is kept of work that could not be
    pushed, and else pushes the plan; its Report says `push_passed`, or what was refused. `probe` is
    the gate that it tries.
    """
    attempt, name = _next(seen, state)
    order = probe_order(seen, state, episode=name)
    return StartSync(attempt=attempt, plan="", order=order, probe=probe)


def _start(seen: Observed, state: PackageState, wanted: str) -> StartSync:
    attempt, name = _next(seen, state)
    return StartSync(attempt=attempt, plan=wanted, order=sync_order(seen, state, episode=name))


def _next(seen: Observed, state: PackageState) -> tuple[int, str]:
    """Return the number and the name of the next sync."""
    record = state.syncs.record
    taken = [episode.attempt for episode in seen.episodes if not episode.members]
    attempt = max([record.attempts if record else 0, *taken]) + 1
    metadata = seen.package.metadata
    return attempt, sync_name(metadata.name, attempt, metadata.uid)

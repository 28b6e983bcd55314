"""Replays the observation on the last records. Decisions are based on the result.

This module applies finished episodes to the records, adopts episodes that a crash left unrecorded,
and applies the user's edits. It starts nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from afresh.api.package_status import MAX_SUBTASKS, PlanSync, SubtaskRecord, UsageStatus
from afresh.api.phases import SubtaskPhase
from afresh.api.subtask import SubtaskEntry
from afresh.contract.outcomes import TABLE
from afresh.contract.overlap import bounded
from afresh.contract.words import Outcome, PushRefusal
from afresh.core.history import transitions
from afresh.core.history.classify import (
    AttemptResult,
    Finished,
    Running,
    Start,
    Verdict,
    sync_verdict,
    verdict_of,
)
from afresh.core.history.shared_waits import NO_WAITS, Waits, is_shared, waits_after
from afresh.core.history.transitions import IN_EPISODE, NO_SYNCS, STALLING, Syncs
from afresh.core.history.usage import usage_after
from afresh.core.history.whole_messages import whole_message
from afresh.core.job_inputs import is_out_of_date
from afresh.core.observed import Episode, Member, Observed
from afresh.core.reasons import Reason

REVISED = "Its revision was raised."
SKIPPED = "It was skipped."
ASKED = "Its user cancelled it."
BATCH_CHANGED = "Another subtask of its batch was changed."
START_IS_TOLD = timedelta(seconds=15)
OUT_OF_DATE = "The package or its class was edited before its agent started."


@dataclass(frozen=True, slots=True, kw_only=True)
class PackageState:
    """The state of every subtask after the whole observation was applied.

    `removed` are subtasks that are no longer in the package. They are kept so that no attempt
    number is used twice, and are live until their pod has ended. `over` has one result for each
    finished episode: that of the subtask it was working on. `messages` has the full messages that
    the records abbreviate. `conflicts` are paths that subtasks changed at the same time.
    """

    records: tuple[SubtaskRecord, ...]
    usage: UsageStatus
    removed: tuple[SubtaskRecord, ...] = ()
    attempt_results: tuple[AttemptResult, ...] = ()
    over: tuple[AttemptResult, ...] = ()
    live: tuple[tuple[Episode, Running], ...] = ()
    syncs: Syncs = NO_SYNCS
    waits: Waits = NO_WAITS
    conflicts: tuple[str, ...] = ()
    messages: Mapping[str, str] = field(default_factory=dict)
    by_id: Mapping[str, SubtaskRecord] = field(init=False)
    """The records by subtask id."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_id", {record.id: record for record in self.records})

    def message_of(self, record: SubtaskRecord) -> str:
        """Return the record's full message."""
        return self.messages.get(record.id, record.message)


@dataclass(frozen=True, slots=True)
class _Taken:
    """One record after its episodes were applied."""

    record: SubtaskRecord
    attempt_results: tuple[AttemptResult, ...]
    live: tuple[tuple[Episode, Running], ...]


def replay(seen: Observed) -> PackageState:
    """Apply everything in `seen` to the package's records."""
    old = {record.id: record for record in seen.package.status.subtasks}
    taken, current = [], []
    for entry in seen.package.spec.subtasks:
        known = old.pop(entry.id, None) or transitions.new_record(entry)
        taken.append(_take_in(seen, known))
        record = _edited(taken[-1], entry, seen)
        if record.observed_revision > known.observed_revision:
            record = transitions.sent_back(record, entry.revision_reason)
        current.append(record)
    removed = []
    for known in old.values():
        gone = _take_in(seen, known)
        cancelled = tuple(
            _cancelled(item, "The subtask was removed.") for item in gone.attempt_results
        )
        taken.append(replace(gone, attempt_results=cancelled))
        removed.append(gone.record if gone.live else transitions.removed(gone.record))
    attempt_results = tuple(item for one in taken for item in one.attempt_results)
    live = _once(pair for one in taken for pair in one.live)
    over = _over(attempt_results, live)
    syncs, sync_verdicts = _syncs(seen)
    ends = [(item.episode, item.ended) for item in attempt_results]
    ends += [(episode, one) for episode, one in sync_verdicts if isinstance(one, Finished)]
    at_work = [(episode, one) for episode, one in sync_verdicts if isinstance(one, Running)]
    missing = _missing(attempt_results, syncs)
    known_now = tuple(
        transitions.without_commit(_probed(record, syncs, seen), missing) for record in current
    )
    return PackageState(
        records=known_now,
        removed=tuple(removed)[: MAX_SUBTASKS - len(current)],
        usage=usage_after(seen.package.status.usage, [item.ended for item in over]),
        attempt_results=attempt_results,
        over=over,
        live=live,
        syncs=syncs,
        messages=_messages(seen, known_now, attempt_results),
        waits=waits_after(seen, ends, [*live, *at_work]),
        conflicts=_conflicts(seen, attempt_results),
    )


def _messages(
    seen: Observed, current: Sequence[SubtaskRecord], attempt_results: Sequence[AttemptResult]
) -> dict[str, str]:
    """Return the full messages: of episodes that just ended, else those in the child objects."""
    texts = {child.spec.id: [child.status.message] for child in seen.subtasks}
    for item in attempt_results:
        texts.setdefault(item.member.subtask, []).insert(0, item.ended.message)
    return {record.id: whole_message(record, texts.get(record.id, ())) for record in current}


def _probed(record: SubtaskRecord, syncs: Syncs, seen: Observed) -> SubtaskRecord:
    return transitions.after_probe(record, syncs.probe, now=seen.now) if syncs.probe else record


def _conflicts(seen: Observed, attempt_results: Iterable[AttemptResult]) -> tuple[str, ...]:
    """Return the conflicts known so far and those just reported."""
    status = seen.package.status
    is_edited = seen.package.metadata.generation != status.observed_generation
    known = () if is_edited else status.conflicts
    results = (item.ended.result for item in attempt_results)
    new = (result.unpushed.conflicts for result in results if result and result.unpushed)
    return bounded((*known, *(path for paths in new for path in paths)))


def _missing(attempt_results: Iterable[AttemptResult], syncs: Syncs) -> frozenset[str]:
    """Return the recorded commits that runners have just reported missing."""
    reports = (item.ended.report for item in attempt_results)
    found = (commit for report in reports if report for commit in report.missing)
    return frozenset((*found, *syncs.missing))


def _take_in(seen: Observed, record: SubtaskRecord) -> _Taken:
    """Apply the subtask's episodes to its record, oldest first.

    After a crash, an end may be unrecorded although the next episode exists. Each end is therefore
    recorded before the next episode is adopted.
    """
    attempt_results: list[AttemptResult] = []
    live: list[tuple[Episode, Running]] = []
    for episode, member in _unrecorded(seen, record):
        if live:
            live.append((episode, Running()))
            continue
        if member.attempt > record.attempts:
            if member.revision > record.observed_revision:
                record = transitions.begin_again(record, member.revision)
            record = transitions.started(record, member.attempt)
        verdict = _verdict(seen, episode, record)
        if isinstance(verdict, Running):
            live.append((episode, verdict))
            record = transitions.while_live(
                record, queued=verdict.queued, later=verdict.later, problem=verdict.problem or ""
            )
            continue
        attempt_result = AttemptResult(episode=episode, member=member, ended=verdict)
        if transitions.is_cancelled(record):
            attempt_result = _cancelled(attempt_result, record.message)
        record = transitions.after(
            record,
            attempt_result.ended,
            now=seen.now,
            limit=seen.package.spec.max_consecutive_failures,
            gated=_is_gated(seen, episode, attempt_result.ended),
            waiting_since=seen.package.status.waiting_since,
        )
        record = transitions.with_share(record, episode, attempt_result.ended)
        attempt_results.append(attempt_result)
    return _Taken(record, tuple(attempt_results), tuple(live))


def _cancelled(attempt_result: AttemptResult, why: str) -> AttemptResult:
    """Return the result of an episode that the operator stopped; its usage and commits count."""
    ended = attempt_result.ended
    if ended.result and ended.result.commit:
        return attempt_result
    begun = ended.begun and (attempt_result.episode.has_begun or why != OUT_OF_DATE)
    cancelled = replace(ended, outcome=Outcome.CANCELLED, message=why, begun=begun, trouble=None)
    return replace(attempt_result, ended=cancelled)


def _once(pairs: Iterable[tuple[Episode, Running]]) -> tuple[tuple[Episode, Running], ...]:
    """Return each live episode once, with the verdict for its current subtask."""
    found: dict[str, tuple[Episode, Running]] = {}
    for episode, live in pairs:
        if episode.name not in found or not live.later:
            found[episode.name] = (episode, live)
    return tuple(found.values())


def _over(
    attempt_results: tuple[AttemptResult, ...], live: tuple[tuple[Episode, Running], ...]
) -> tuple[AttemptResult, ...]:
    """Return one result for each finished episode: that of the subtask it was working on."""
    going_on = {episode.name for episode, _ in live}
    over: dict[tuple[str, str], AttemptResult] = {}
    for item in attempt_results:
        never_ran = not item.episode.uid and not item.ended.begun
        if item.episode.name in going_on or never_ran:
            continue
        key = (item.episode.name, "" if item.episode.name else item.member.subtask)
        known = over.get(key)
        if known is None or known.ended.outcome is Outcome.CANCELLED:
            over[key] = item
    return tuple(over.values())


def _unrecorded(seen: Observed, record: SubtaskRecord) -> list[tuple[Episode, Member]]:
    """Return the subtask's episodes whose end is not in the record, oldest first."""
    running = record.phase in IN_EPISODE
    mine = [
        (episode, member)
        for episode in seen.episodes
        if (member := episode.member(record.id))
        and (member.attempt > record.attempts or (running and member.attempt == record.attempts))
    ]
    if running and not any(member.attempt == record.attempts for _, member in mine):
        mine.append(_gone(record))
    return sorted(mine, key=lambda pair: pair[1].attempt)


def _verdict(seen: Observed, episode: Episode, record: SubtaskRecord) -> Running | Finished:
    if episode.uid:
        known = {item.id: item for item in seen.package.status.subtasks}
        recorded = {
            member.subtask
            for member in episode.members
            if member.subtask in known and transitions.knows_end(known[member.subtask], member)
        }
        return verdict_of(
            episode, record.id, now=seen.now, recorded=recorded, start=_start(seen, record.message)
        )
    return Finished(
        outcome=Outcome.INFRASTRUCTURE,
        message="The Job was deleted before it ended; another episode starts automatically.",
        begun=record.phase is SubtaskPhase.RUNNING,
    )


def _gone(record: SubtaskRecord) -> tuple[Episode, Member]:
    """Return a placeholder for an episode whose Job no longer exists; it has no UID."""
    member = Member(subtask=record.id, attempt=record.attempts, revision=record.observed_revision)
    episode = Episode(
        name="",
        uid="",
        members=(member,),
        attempt=record.attempts,
        created=datetime.min,  # noqa: DTZ901  # never compared; an absent Job has no time
    )
    return episode, member


def _start(seen: Observed, problem: str) -> Start:
    seconds = seen.package.spec.episode.startup_timeout_seconds
    return Start(patience=timedelta(seconds=seconds), problem=problem)


def _is_gated(seen: Observed, episode: Episode, ended: Finished) -> bool:
    """Whether the subtask waits for a gate instead of its own back-off."""
    has_credential = seen.agent_class is not None and seen.agent_class.spec.credentials is not None
    by_provider = has_credential and TABLE[ended.outcome].of_provider
    return by_provider or is_shared(seen, episode, ended)


def _edited(taken: _Taken, entry: SubtaskEntry, seen: Observed) -> SubtaskRecord:
    """Apply the user's edits of the subtask."""
    record = taken.record
    if record.phase in IN_EPISODE:
        why = _reason_to_stop(taken, entry, seen)
        return transitions.cancelling(record, why) if why else record
    if entry.revision > record.observed_revision or record.reason == Reason.REMOVED:
        record = transitions.begin_again(record, entry.revision)
    if entry.skip and record.phase is not SubtaskPhase.DONE:
        skipped = transitions.updated(
            record, reason=Reason.SKIPPED_BY_USER, message="", not_before=None
        )
        return transitions.in_phase(skipped, SubtaskPhase.SKIPPED)
    if record.reason == Reason.SKIPPED_BY_USER and not entry.skip:
        return transitions.begin_again(record, record.observed_revision)
    edited = seen.package.metadata.generation != seen.package.status.observed_generation
    asked = (edited and record.reason in STALLING) or _asked_to_retry(seen)
    if asked and record.refused is PushRefusal.WORK_ONLY:
        return transitions.push_allowed(record)
    if asked:
        return transitions.updated(record, not_before=None)
    return record


def _reason_to_stop(taken: _Taken, entry: SubtaskEntry, seen: Observed) -> str | None:
    """Return the reason to stop the episode of a running subtask, if there is one."""
    package = seen.package
    if package.cancel_request != package.status.last_handled_cancel:
        return ASKED
    if entry.revision > taken.record.observed_revision:
        return REVISED
    if entry.skip:
        return SKIPPED
    for episode, live in taken.live:
        if (live.queued or _hangs_at_start(episode, live, seen)) and is_out_of_date(seen, episode):
            return OUT_OF_DATE
        if any(_unwanted(member, seen) for member in episode.members):
            return BATCH_CHANGED
    return None


def _hangs_at_start(episode: Episode, live: Running, seen: Observed) -> bool:
    """Whether its agent has not started. The kubelet reports a start late."""
    if episode.has_begun:
        return False
    return bool(live.problem) or seen.now - episode.created >= START_IS_TOLD


def _unwanted(member: Member, seen: Observed) -> bool:
    """Whether the user has removed or skipped this subtask of a batch, or raised its revision."""
    entry = next((item for item in seen.package.spec.subtasks if item.id == member.subtask), None)
    return entry is None or entry.skip or entry.revision > member.revision


def _asked_to_retry(seen: Observed) -> bool:
    return seen.package.retry_request != seen.package.status.last_handled_retry


def _syncs(seen: Observed) -> tuple[Syncs, list[tuple[Episode, Verdict]]]:
    """Apply the syncs to their record, oldest first; return the verdict on each."""
    found: list[tuple[Episode, Verdict]] = []
    state = Syncs(record=seen.package.status.plan_sync)
    if state.record and _asked_to_retry(seen):
        state = replace(state, record=transitions.updated(state.record, not_before=None))
    mine = (episode for episode in seen.episodes if not episode.members)
    for episode in sorted(mine, key=lambda item: item.attempt):
        record = state.record or PlanSync()
        if episode.attempt <= record.attempts:
            continue
        verdict = sync_verdict(episode, now=seen.now, start=_start(seen, record.message))
        found.append((episode, verdict))
        if isinstance(verdict, Running):
            return replace(state, live=episode), found
        state = transitions.after_sync(state, episode, verdict, now=seen.now)
    return state, found

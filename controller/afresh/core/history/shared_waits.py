"""The current state of shared causes: which ones block the package, and which episode tries when.

While a cause lasts, its gate is closed, and `.status.wait` of each waiting package shows it. The
first episode that fails for the cause closes the gate. Then one episode at a time tries, and the
first that passes the cause's stage opens the gate. Pure.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from afresh.api.package_status import SharedWait
from afresh.api.phases import PackagePhase
from afresh.contract.outcomes import is_overdue, slower, whole_second
from afresh.contract.pod_layout import RUNNER
from afresh.contract.words import Outcome
from afresh.core.history.classify import Finished, Running
from afresh.core.history.shared_causes import (
    ADDED,
    TABLE,
    Cause,
    Trouble,
    refusal_trouble,
    stage_of,
)
from afresh.core.job_inputs import generations_of
from afresh.core.names import short_hash
from afresh.core.observed import Episode, Observed
from afresh.core.reasons import Reason

_PASSES = frozenset({str(Reason.IMAGE_NOT_PULLED), str(Reason.GIT_UNREACHABLE)})

Ident = tuple[str, str]
"""Cause and key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waits:
    """The gates that are closed for the package, its own gate, and those that it opens."""

    closed: tuple[SharedWait, ...] = ()
    own: SharedWait | None = None
    opened: tuple[SharedWait, ...] = ()

    @property
    def strongest(self) -> SharedWait | None:
        """The gate to show: the package's own, else the one that stays closed the longest."""
        return self.own or max(self.closed, key=lambda item: item.until, default=None)


NO_WAITS = Waits()


def ident_of(wait: SharedWait) -> Ident:
    """Return the identity of a wait's gate; equal identities mean the same gate."""
    return wait.cause, wait.key


def probe_text(wait: SharedWait) -> str:
    """Return the annotation of a Job that tries the gate at its current step."""
    return f"{wait.cause}/{short_hash(wait.key)}/{int(wait.since.timestamp())}/{wait.step}"


def phase_of(wait: SharedWait, now: datetime) -> PackagePhase:
    """Return the phase of the packages that wait for the gate."""
    if wait.reason in _PASSES and not is_overdue(wait.since, now):
        return PackagePhase.PENDING
    return PackagePhase.STALLED


def may_try(seen: Observed, wait: SharedWait) -> bool:
    """Whether the package may try the gate now."""
    if ident_of(wait) in seen.shared_limits.tried:
        return False
    own = seen.package.status.wait
    known = own if own and ident_of(own) == ident_of(wait) else None
    edited = known is not None and known.generations != generations_of(seen)
    retry = seen.package.retry_request != seen.package.status.last_handled_retry
    return wait.until <= seen.now or edited or retry


def is_shared(seen: Observed, episode: Episode, ended: Finished) -> bool:
    """Whether the subtask waits for the gate instead of its own back-off."""
    return ended.trouble is not None or _waited_in_vain(seen, episode, ended)


def waits_after(
    seen: Observed,
    ended: Sequence[tuple[Episode, Finished]],
    live: Sequence[tuple[Episode, Running]],
) -> Waits:
    """Return the gates after the package's own episodes were applied."""
    if seen.agent_class is None:
        return NO_WAITS
    own = seen.package.status.wait
    names = {episode.name for episode, _ in live}
    closed = {}
    for wait in seen.shared_limits.waits:
        mine = own is not None and ident_of(own) == ident_of(wait) and own.episode in names
        episode_name = own.episode if own and mine else ""
        closed[ident_of(wait)] = wait.model_copy(update={"episode": episode_name})
    opened = _opened(seen, closed, [*ended, *live])
    for wait in opened:
        del closed[ident_of(wait)]
    touched: list[Ident] = []
    for episode, end in ended:
        touched += _take_end(seen, closed, episode, end)
    for episode, state in live:
        touched += _take_live(seen, closed, episode, state)
    refused = refusal_trouble(seen.obstacle) if seen.obstacle else None
    if refused:
        touched.append(_close(seen, closed, refused, is_try=True))
    if not touched and own and ident_of(own) in closed:
        touched.append(ident_of(own))
    return Waits(
        closed=tuple(closed.values()),
        own=closed[touched[0]] if touched else None,
        opened=tuple(opened),
    )


def tried_by(seen: Observed, wait: SharedWait, episode: str) -> SharedWait:
    """Return the wait to record in the package whose `episode` tries the gate."""
    return wait.model_copy(update={"episode": episode, "generations": generations_of(seen)})


def behind(seen: Observed, wait: SharedWait) -> SharedWait:
    """Return the wait to record in a package that waits for the gate."""
    own = seen.package.status.wait
    holds = own is not None and ident_of(own) == ident_of(wait) and own.episode == wait.episode
    return tried_by(seen, wait, wait.episode if holds else "")


def _opened(
    seen: Observed,
    closed: dict[Ident, SharedWait],
    episodes: Sequence[tuple[Episode, Running | Finished]],
) -> list[SharedWait]:
    """Return the gates that one of the episodes has tried and passed."""
    return [
        wait
        for wait in closed.values()
        if any(
            holds(seen, wait, episode)
            and concerns(seen, wait, episode.subtasks)
            and stage_of(episode) >= TABLE[Cause(wait.cause)].ends_at
            and not (verdict.trouble and verdict.trouble.cause == wait.cause)
            for episode, verdict in episodes
        )
    ]


def concerns(seen: Observed, wait: SharedWait, subtasks: Iterable[str]) -> bool:
    """Whether the gate applies to an episode of these subtasks.

    A gate of an image applies only if their pod uses the image; every other gate applies.
    """
    if wait.cause != Cause.IMAGE or seen.agent_class is None:
        return True
    package, agent_class, asked = seen.package, seen.agent_class, set(subtasks)
    verifies = (package.verify_of(entry) for entry in package.spec.subtasks if entry.id in asked)
    agents = package.spec.image or agent_class.spec.image
    images = (RUNNER, ADDED, agents, *(verify.image for verify in verifies if verify.image))
    key = TABLE[Cause.IMAGE].key
    return any(wait.key == key(package, agent_class, image) for image in images)


def holds(seen: Observed, wait: SharedWait, episode: Episode) -> bool:
    """Whether this episode waits at the gate or tries it."""
    own = seen.package.status.wait
    is_own = own is not None and ident_of(own) == ident_of(wait) and own.episode == episode.name
    return is_own or episode.probe == probe_text(wait)


def _waited_in_vain(seen: Observed, episode: Episode, ended: Finished) -> bool:
    own = seen.package.status.wait
    is_own = own is not None and bool(own.episode) and own.episode == episode.name
    return is_own and ended.outcome is Outcome.INFRASTRUCTURE


def _take_end(
    seen: Observed, closed: dict[Ident, SharedWait], episode: Episode, ended: Finished
) -> list[Ident]:
    own = seen.package.status.wait
    if ended.trouble:
        return [_close(seen, closed, ended.trouble, is_try=_is_try(seen, closed, episode))]
    if own and _waited_in_vain(seen, episode, ended) and ident_of(own) in closed:
        known = closed[ident_of(own)]
        closed[ident_of(own)] = _longer(seen, known)
        return [ident_of(own)]
    return []


def _is_try(seen: Observed, closed: dict[Ident, SharedWait], episode: Episode) -> bool:
    return any(holds(seen, wait, episode) for wait in closed.values())


def _take_live(
    seen: Observed, closed: dict[Ident, SharedWait], episode: Episode, live: Running
) -> list[Ident]:
    if live.trouble:
        found = [_close(seen, closed, live.trouble, is_try=False)]
    else:
        found = [ident for ident, wait in closed.items() if holds(seen, wait, episode)]
    for ident in found:
        closed[ident] = tried_by(seen, closed[ident], episode.name)
    return found


def _close(
    seen: Observed, closed: dict[Ident, SharedWait], trouble: Trouble, *, is_try: bool
) -> Ident:
    """Close the gate of the trouble. Only a failed try lengthens the wait."""
    if seen.agent_class is None:
        raise AssertionError("nothing was started without a class")
    key = TABLE[trouble.cause].key(seen.package, seen.agent_class, trouble.subject)
    ident = (str(trouble.cause), key)
    known = closed.get(ident)
    if known is None:
        closed[ident] = _longer(
            seen,
            SharedWait(
                cause=trouble.cause,
                key=key,
                since=whole_second(seen.now),
                until=whole_second(seen.now),
                reason=trouble.reason,
                message=trouble.message,
            ),
        )
    elif is_try:
        closed[ident] = _longer(seen, known)
    return ident


def _longer(seen: Observed, wait: SharedWait) -> SharedWait:
    """Return the gate after one more failed try."""
    step = wait.step + 1
    pause = slower(TABLE[Cause(wait.cause)].pause(step), wait.since, seen.now)
    until = whole_second(seen.now + pause)
    return tried_by(seen, wait.model_copy(update={"step": step, "until": until}), "")

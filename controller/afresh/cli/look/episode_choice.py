"""Which episodes' logs a person means. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from afresh.api.subtask import Attempt, SubtaskObject
from afresh.cli.requests import CommandError

_LONG_AGO = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Chosen:
    """One episode, as one subtask's history has it; `others` were in its batch."""

    subtask: str
    attempt: Attempt
    others: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """What identifies the episode, for every subtask of its batch."""
        return self.attempt.job_name or f"{self.subtask} {self.attempt.number}"

    @property
    def ended(self) -> bool:
        """Whether its result is recorded."""
        return self.attempt.outcome is not None


def episodes(children: Iterable[SubtaskObject], subtask: str | None = None) -> list[Chosen]:
    """Return the episodes that the status keeps, in the order of their start.

    Each comes once, as the subtask that it is at has it, or as `subtask` has it.
    """
    found = [
        Chosen(child.spec.id, attempt) for child in children for attempt in child.status.attempts
    ]
    found.sort(key=_start)
    batches: dict[str, list[Chosen]] = defaultdict(list)
    for item in found:
        batches[item.key].append(item)
    mine = (_as_seen_by(subtask, batch) for batch in batches.values())
    return [item for item in mine if item]


def _start(item: Chosen) -> tuple[datetime, str, int]:
    return item.attempt.start_time or _LONG_AGO, item.subtask, item.attempt.number


def _as_seen_by(subtask: str | None, batch: Sequence[Chosen]) -> Chosen | None:
    own = [item for item in batch if subtask in (None, item.subtask)]
    if not own:
        return None
    at = next((item for item in own if not item.ended), own[-1])
    return replace(at, others=tuple(item.subtask for item in batch if item is not at))


def choose(
    children: Sequence[SubtaskObject],
    subtask: str | None,
    attempt: int | None,
    listed: Sequence[str] = (),
) -> list[Chosen]:
    """Return the episodes to show: the named one, else those that run, else the last one.

    Empty where none has started. `listed` are the ids of the package's list, of which the operator
    may not have made the Subtasks yet. Raises CommandError for one that there is not.
    """
    ids = list(dict.fromkeys((*listed, *(child.spec.id for child in children))))
    if subtask is not None and subtask not in ids:
        raise CommandError(f'There is no subtask "{subtask}"; {_list_of(ids)}.')
    found = episodes(children, subtask)
    if attempt is not None:
        return [_numbered(found, subtask or "", attempt)]
    return [item for item in found if not item.ended] or found[-1:]


def _numbered(found: Sequence[Chosen], subtask: str, attempt: int) -> Chosen:
    for item in found:
        if item.attempt.number == attempt:
            return item
    known = [str(item.attempt.number) for item in found]
    kept = f"the status keeps {', '.join(known)}" if known else "it has not started yet"
    raise CommandError(f"There is no attempt {attempt} of {subtask}: {kept}.")


def _list_of(ids: Sequence[str]) -> str:
    if not ids:
        return "the operator has made none yet"
    return "there are " + ", ".join(_first(ids, 10))


def _first(ids: Sequence[str], number: int) -> Iterator[str]:
    yield from ids[:number]
    if len(ids) > number:
        yield "..."

"""Records what people did to a subtask, who did it, and when. Agents never see it (S1-6). Pure.

The person is the manager that the API server recorded for the field or annotation, and the time is
that of the manager's entry.
"""

import json
from collections.abc import Iterator, Sequence
from datetime import datetime

from afresh.api.meta import ManagedFields, ObjectMeta
from afresh.api.package_status import SubtaskRecord
from afresh.api.subtask import (
    INTERVENTIONS_KEPT,
    MAX_GUIDANCE,
    GivenGuidance,
    Intervention,
    InterventionAction,
    SubtaskEntry,
    SubtaskObjectStatus,
)
from afresh.api.work_package import CANCEL_ANNOTATION, RETRY_ANNOTATION
from afresh.core.history.durations import whole_utc
from afresh.core.history.transitions import is_cancelled, new_record
from afresh.core.observed import Observed
from afresh.core.reasons import Reason


def guidance_given(
    seen: Observed, entry: SubtaskEntry, old: SubtaskObjectStatus
) -> tuple[GivenGuidance, ...]:
    """Return the last directives that were given, with who gave each of them, and when."""
    known = {item.text: item for item in old.guidance}
    given: dict[str, GivenGuidance] = {}
    for directive in entry.guidance:
        by, time = _author(seen, _entry(entry), "f:guidance", f"v:{json.dumps(directive)}")
        new = GivenGuidance(time=time, by=by, text=directive)
        given[new.text] = known.get(new.text, new)
    taken_back = [item for text, item in known.items() if text not in given]
    return (*taken_back, *given.values())[-MAX_GUIDANCE:]


def interventions_after(
    seen: Observed, record: SubtaskRecord, entry: SubtaskEntry, old: SubtaskObjectStatus
) -> tuple[Intervention, ...]:
    """Return the last interventions, including those that led to the new `record`."""
    found = list(old.interventions)
    for item in _actions(seen, record, entry):
        # The operator may have died before it wrote this: then it finds the same action again.
        if item not in found:
            found.append(item)
    return tuple(found)[-INTERVENTIONS_KEPT:]


def _actions(seen: Observed, record: SubtaskRecord, entry: SubtaskEntry) -> Iterator[Intervention]:
    package = seen.package
    records = {item.id: item for item in package.status.subtasks}
    before = records.get(record.id) or new_record(entry)
    here = _entry(entry)
    if record.observed_revision > before.observed_revision:
        yield _intervention(seen, InterventionAction.RETRIED, *here, "f:revision")
    was_skipped = before.reason == Reason.SKIPPED_BY_USER
    is_skipped = record.reason == Reason.SKIPPED_BY_USER
    if is_skipped and not was_skipped:
        yield _intervention(seen, InterventionAction.SKIPPED, *here, "f:skip")
    if was_skipped and not is_skipped and not entry.skip:
        yield _intervention(seen, InterventionAction.TAKEN_UP, *here, "f:skip")
    annotation = ("f:metadata", "f:annotations")
    retried = package.retry_request != package.status.last_handled_retry
    if retried and before.not_before is not None:
        yield _intervention(
            seen, InterventionAction.TRIED_AT_ONCE, *annotation, f"f:{RETRY_ANNOTATION}"
        )
    cancelled = package.cancel_request != package.status.last_handled_cancel
    if cancelled and is_cancelled(record) and not is_cancelled(before):
        yield _intervention(
            seen, InterventionAction.CANCELLED, *annotation, f"f:{CANCEL_ANNOTATION}"
        )


def _intervention(seen: Observed, action: InterventionAction, *path: str) -> Intervention:
    by, time = _author(seen, path)
    return Intervention(time=time, by=by, action=action)


def _entry(entry: SubtaskEntry) -> tuple[str, ...]:
    key = json.dumps({"id": entry.id}, separators=(",", ":"))
    return ("f:spec", "f:subtasks", f"k:{key}")


def _author(seen: Observed, path: Sequence[str], *more: str) -> tuple[str, datetime]:
    """Return who last wrote the field, or else the nearest field above it, and when."""
    found = author_of(seen.package.metadata, (*path, *more))
    if found is None or found.time is None:
        return found.manager if found else "", whole_utc(seen.now)
    return found.manager, whole_utc(found.time)


def author_of(metadata: ObjectMeta, path: Sequence[str]) -> ManagedFields | None:
    """Return the latest entry that owns the field at `path`, or else the nearest field above it."""
    for length in range(len(path), 1, -1):
        owners = [item for item in metadata.managed_fields if _has(item, path[:length])]
        if owners:
            return max(owners, key=lambda item: item.time.timestamp() if item.time else 0.0)
    return None


def _has(entry: ManagedFields, path: Sequence[str]) -> bool:
    fields: object = entry.fields_v1
    for step in path:
        if not isinstance(fields, dict) or step not in fields:
            return False
        fields = fields[step]
    return True

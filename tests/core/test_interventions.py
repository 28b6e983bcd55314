"""What people did is kept for people, with who and when; no agent is told (S1-6)."""

import json
from dataclasses import replace
from datetime import datetime
from typing import Any

from afresh.api.phases import SubtaskPhase
from afresh.api.subtask import SubtaskObjectStatus
from afresh.contract import codec
from afresh.contract.words import Outcome
from afresh.core.decision import StartEpisode
from afresh.core.observed import Observed
from afresh.core.planner import decide
from afresh.core.status import package_status, subtask_statuses
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

ANNA_AT, BEN_AT = "2030-01-02T03:03:00Z", "2030-01-02T03:04:00Z"


def owned(manager: str, time: str, *path: str) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for step in reversed(path):
        fields = {step: fields}
    return {"manager": manager, "operation": "Update", "time": time, "fieldsV1": fields}


def of_entry(manager: str, time: str, *path: str) -> dict[str, Any]:
    return owned(manager, time, "f:spec", "f:subtasks", 'k:{"id":"T001"}', *path)


def after(seen: Observed) -> SubtaskObjectStatus:
    """The Subtask's status once the operator has looked, and the same at the next look."""
    (status,) = subtask_statuses(seen, decide(seen)).values()
    child = seen.subtasks[0].model_copy(update={"status": status})
    again = replace(seen, subtasks=(child,), now=seen.now + seconds(9))
    (once_more,) = (subtask_statuses(again, decide(again)) or {"": status}).values()
    assert once_more.interventions == status.interventions
    assert once_more.guidance == status.guidance
    return status


def test_each_directive_is_recorded_with_who_gave_it_and_when() -> None:
    long = "Write tests. " * 38
    fields = [
        of_entry("kubectl-create", ANNA_AT, "f:guidance", 'v:"Use JWT."'),
        of_entry("afresh-cli", BEN_AT, "f:guidance", f"v:{json.dumps(long)}"),
    ]
    package = make_package(
        [make_entry(guidance=["Use JWT.", long])], metadata={"managedFields": fields}
    )

    first, second = after(make_seen(package)).guidance

    assert (first.text, first.by) == ("Use JWT.", "kubectl-create")
    assert first.time == datetime.fromisoformat(ANNA_AT)
    assert (second.by, second.time) == ("afresh-cli", datetime.fromisoformat(BEN_AT))
    assert second.text.startswith("Write tests.")
    assert "…" in second.text


def test_a_directive_that_was_taken_back_stays_in_the_record_of_twenty() -> None:
    texts = [f"Rule {number}." for number in range(20)]
    seen = make_seen(make_package([make_entry(guidance=texts)]))
    (status,) = subtask_statuses(seen, decide(seen)).values()
    package = make_package([make_entry(guidance=["Another.", *texts[2:]])])
    child = make_seen(package).subtasks[0].model_copy(update={"status": status})

    given = after(replace(make_seen(package), subtasks=(child,))).guidance

    assert [item.text for item in given] == ["Rule 1.", "Another.", *texts[2:]]


def test_who_skipped_and_who_took_it_up_is_kept() -> None:
    skip = of_entry("kubectl-edit", ANNA_AT, "f:skip")
    package = make_package([make_entry(skip=True)], metadata={"managedFields": [skip]})

    skipped = after(make_seen(package, [make_record()]))
    (first,) = skipped.interventions
    package = make_package(
        [make_entry(skip=False)], metadata={"managedFields": [{**skip, "time": BEN_AT}]}
    )
    record = make_record(phase=SubtaskPhase.SKIPPED, reason="SkippedByUser")
    seen = make_seen(package, [record])
    child = seen.subtasks[0].model_copy(update={"status": skipped})
    _, second = after(replace(seen, subtasks=(child,))).interventions

    assert (first.action, first.by, first.time) == (
        "Skipped", "kubectl-edit", datetime.fromisoformat(ANNA_AT),
    )  # fmt: skip
    assert (second.action, second.time) == ("TakenUp", datetime.fromisoformat(BEN_AT))


def test_who_raised_the_revision_is_kept() -> None:
    fields = [of_entry("argocd", ANNA_AT, "f:revision"), of_entry("afresh-cli", BEN_AT, "f:title")]
    package = make_package([make_entry(revision=2)], metadata={"managedFields": fields})
    record = make_record(phase=SubtaskPhase.NEEDS_REVIEW, reason="Blocked", attempts=1)

    (raised,) = after(make_seen(package, [record])).interventions

    assert (raised.action, raised.by) == ("Retried", "argocd")


def test_who_asked_to_try_at_once_or_to_cancel_is_kept_from_the_annotations_manager() -> None:
    notes = {"afresh.dev/retry-requested-at": "2030-01-02T03:04:04Z"}
    by = owned("afresh-cli", BEN_AT, "f:metadata", "f:annotations",
               "f:afresh.dev/retry-requested-at")  # fmt: skip
    package = make_package(metadata={"annotations": notes, "managedFields": [by]})
    waits = make_record(reason="Auth", message="x", attempts=1, not_before=NOW + seconds(99))

    (tried,) = after(make_seen(package, [waits])).interventions

    notes = {"afresh.dev/cancel-requested-at": "2030-01-02T03:04:04Z"}
    by = owned("dashboard", BEN_AT, "f:metadata", "f:annotations",
               "f:afresh.dev/cancel-requested-at")  # fmt: skip
    package = make_package(metadata={"annotations": notes, "managedFields": [by]})
    runs = make_record(phase=SubtaskPhase.RUNNING, reason="EpisodeRunning", attempts=1)
    (stopped,) = after(make_seen(package, [runs], episodes=(make_episode(),))).interventions

    assert (tried.action, tried.by) == ("TriedAtOnce", "afresh-cli")
    assert (stopped.action, stopped.by) == ("Cancelled", "dashboard")
    assert stopped.time == datetime.fromisoformat(BEN_AT)


def test_without_a_note_of_the_server_it_is_nobody_and_now() -> None:
    (given,) = after(make_seen(make_package([make_entry(guidance=["Use JWT."])]))).guidance

    assert (given.by, given.time) == ("", NOW)


def test_no_agent_sees_who_gave_a_directive_or_when() -> None:
    fields = [of_entry("anna-the-reviewer", ANNA_AT, "f:guidance")]
    entry = make_entry(guidance=["Use JWT."])
    seen = make_seen(make_package([entry], metadata={"managedFields": fields}))
    (status,) = subtask_statuses(seen, decide(seen)).values()
    child = seen.subtasks[0].model_copy(update={"status": status})

    (first,) = [a for a in decide(seen).actions if isinstance(a, StartEpisode)]
    (second,) = [
        a for a in decide(replace(seen, subtasks=(child,))).actions if isinstance(a, StartEpisode)
    ]

    assert status.guidance[0].by == "anna-the-reviewer"
    assert first.order == second.order
    assert "anna" not in codec.dumps(first.order)


def test_every_change_of_the_phase_and_start_end_and_duration_are_recorded() -> None:
    entry = make_entry()
    seen = make_seen(make_package([entry]))
    statuses = []
    ended = make_pod(make_container("runner", "Terminated", exit_code=0))
    steps: list[tuple[int, tuple[Any, ...]]] = [
        (0, ()),
        (60, (make_episode(report=make_report(Outcome.VERIFY_FAILED), pod=ended),)),
        (61, (make_episode(attempt=2),)),
        (250, (make_episode(attempt=2, report=make_report(), pod=ended),)),
    ]
    for after_seconds, episodes in steps:
        now = replace(seen, now=NOW + seconds(after_seconds), episodes=episodes)
        decision = decide(now)
        package = package_status(now, decision)
        (child,) = (subtask_statuses(now, decision) or {"": now.subtasks[0].status}).values()
        statuses.append(child)
        seen = replace(
            seen,
            package=seen.package.model_copy(update={"status": package}),
            subtasks=(seen.subtasks[0].model_copy(update={"status": child}),),
        )

    child = statuses[-1]
    changes = [(c.from_phase, c.to_phase, (c.time - NOW).seconds) for c in child.transitions]
    assert changes[0] == (None, "Running", 0)
    assert changes[-1] == ("Running", "Done", 250)
    assert [time for _, _, time in changes] == sorted(time for _, _, time in changes)
    assert (child.start_time, child.completion_time) == (NOW, NOW + seconds(250))
    assert child.duration == "4m10s"
    assert statuses[0].duration == ""


def test_a_package_has_its_start_its_end_and_how_long_it_took() -> None:
    done = make_record(phase=SubtaskPhase.DONE, reason="Verified", attempts=1)
    seen = make_seen(make_package(status={"startTime": ANNA_AT}), [done])

    status = package_status(seen, decide(seen))
    ended = make_seen(seen.package.model_copy(update={"status": status}), now=NOW + seconds(99))

    assert (status.phase, status.duration) == ("Succeeded", "1m05s")
    assert package_status(ended, decide(ended)) == status


def test_a_status_has_no_empty_fields() -> None:
    seen = make_seen()
    decision = decide(seen)
    (child,) = subtask_statuses(seen, decision).values()

    for manifest in (package_status(seen, decision).to_manifest(), child.to_manifest()):
        assert empties(manifest) == []
        assert manifest["phase"] == "Running"


def empties(value: Any) -> list[Any]:
    if isinstance(value, dict):
        found = [key for key, item in value.items() if item in ("", [], {}, None)]
        return found + [key for item in value.values() for key in empties(item)]
    if isinstance(value, list):
        return [key for item in value for key in empties(item)]
    return []

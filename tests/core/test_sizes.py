"""No status grows without bound: the largest that there can be leaves room in its object.

An object of 256 KiB holds it, what the server notes of who owns which field, and a spec of usual
size. What the server really stores is measured by `tests/apiserver/full_history.py`.
"""

import json
from datetime import UTC, datetime
from decimal import Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from afresh.api.conditions import Condition
from afresh.api.meta import ApiModel
from afresh.api.package_status import (
    MAX_SUBTASKS,
    BudgetShare,
    PlanSync,
    Review,
    SharedWait,
    SubtaskRecord,
    UsageStatus,
    WorkPackageStatus,
)
from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.api.rules import stored_size
from afresh.api.subtask import (
    ATTEMPTS_KEPT,
    INTERVENTIONS_KEPT,
    MAX_GUIDANCE,
    TRANSITIONS_KEPT,
    Attempt,
    GivenGuidance,
    Intervention,
    InterventionAction,
    SubtaskObjectStatus,
    Transition,
    VerifyStatus,
)
from afresh.contract.report import PHASES
from afresh.contract.words import ContextMode, Marker, Outcome
from afresh.core.reasons import Reason

PACKAGE_BYTES = 204 * 1024
SUBTASK_BYTES = 128 * 1024
MANY = 10**12
LATE = datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)
REASON = max(map(str, Reason), key=len)
ACTION = max(InterventionAction, key=len)
OUTCOME = max(Outcome, key=len)
TEXTS = st.one_of(
    st.text(min_size=1, max_size=8),
    st.sampled_from(["<", "&", "\u2028", "\x01", '"', "😀", "é", "x", "\ud800"]),
).map(lambda text: (text * 5000)[:5000])
TOKENS = {
    "input_tokens": MANY,
    "output_tokens": MANY,
    "cache_read_tokens": MANY,
    "cache_write_tokens": MANY,
    "cost_usd": Decimal("123456.123456"),
}


@settings(max_examples=settings.default.max_examples // 5)
@given(TEXTS)
def test_the_largest_status_of_a_package_leaves_room_in_its_object(text: str) -> None:
    records = tuple(
        SubtaskRecord(
            id=f"{number:020}", phase=SubtaskPhase.NEEDS_REVIEW, marker=Marker.NEEDS_REVIEW,
            observed_revision=1_000_000, attempts=1000, consecutive_failures=100,
            transient_retries=100, commit="f" * 64, reason=REASON, message=text, not_before=LATE,
            cost_usd=Decimal("123456.123456"), rejections=100, hallucinations=100, not_begun=1000,
            silences=100,
            insufficient=BudgetShare(max_tokens=MANY, max_cost_usd=Decimal("123456.123456")),
        )
        for number in range(MAX_SUBTASKS)
    )  # fmt: skip
    conditions = tuple(
        Condition(
            type=kind, status="False", reason=REASON, message=text, observed_generation=MANY,
            last_transition_time=LATE,
        )
        for kind in ("Ready", "Progressing", "Stalled")
    )  # fmt: skip
    status = WorkPackageStatus(
        observed_generation=MANY, phase=PackagePhase.AWAITING_APPROVAL, conditions=conditions,
        reason=REASON, start_time=LATE, completion_time=LATE,
        duration="x" * 24, progress="200/200", current="x" * 1100, cost="x" * 24, branch="b" * 200,
        head_commit="f" * 64, plan_digest="f" * 80,
        plan_sync=PlanSync(
            attempts=1000, failures=1000, reason=REASON, message=text, not_before=LATE
        ),
        last_handled_cancel="c" * 128, last_handled_retry="c" * 128,
            waiting_since=LATE,
            wait=SharedWait(
                cause="Repository", key="k" * 1300, since=LATE, until=LATE, step=1000,
                episode="e" * 63, generations="1" * 64, reason=REASON, message=text,
            ),
        conflicts=("c" * 80,) * 8,
        push_passed="f" * 16, programs=("f" * 16,) * 32,
        usage=UsageStatus(episodes=1000, transient_retries=1000, **TOKENS),
        subtasks=records,
        reviews=tuple(
            Review(id=record.id, reason=record.reason, message=record.message)
            for record in records
        ),
    )  # fmt: skip

    assert size_of(status) <= PACKAGE_BYTES


@settings(max_examples=settings.default.max_examples // 5)
@given(TEXTS)
def test_the_largest_status_of_a_subtask_leaves_room_in_its_object(text: str) -> None:
    attempt = Attempt(
        number=1000, job_name="j" * 63, context_mode=ContextMode.FRESH_PER_SUBTASK,
        start_time=LATE, completion_time=LATE, outcome=OUTCOME, message=text, summary=text,
        exit_code=255, turns=1000, usage=TOKENS,
        verify=VerifyStatus(exit_code=124, duration_seconds=86_400.123, tail=text),
        warnings=(text,) * 16, log_tail=text,
        phases=dict.fromkeys(PHASES, 86_400.123),
    )  # fmt: skip
    change = Transition(
        time=LATE, from_phase=SubtaskPhase.NEEDS_REVIEW, to_phase=SubtaskPhase.NEEDS_REVIEW,
        reason=REASON,
    )  # fmt: skip
    status = SubtaskObjectStatus(
        observed_generation=MANY, phase=SubtaskPhase.NEEDS_REVIEW, marker=Marker.NEEDS_REVIEW,
        reason=REASON, message=text, not_before=LATE, commit="f" * 64, attempt_count=1000,
        cost="x" * 24, attempts=(attempt,) * ATTEMPTS_KEPT,
        transitions=(change,) * TRANSITIONS_KEPT,
        start_time=LATE, completion_time=LATE, duration="x" * 24,
        guidance=(GivenGuidance(time=LATE, by=text, text=text),) * MAX_GUIDANCE,
        interventions=(Intervention(time=LATE, by=text, action=ACTION),) * INTERVENTIONS_KEPT,
    )  # fmt: skip

    assert size_of(status) <= SUBTASK_BYTES


@given(TEXTS)
def test_a_long_log_keeps_its_last_two_kibibytes(text: str) -> None:
    kept = Attempt(number=1, log_tail=text).log_tail

    assert text.endswith(kept)
    assert 2048 - 6 <= stored_size(kept) <= 2048 or kept == text


def size_of(part: ApiModel) -> int:
    """How many bytes the API server stores for it."""
    text = json.dumps(part.to_manifest(), separators=(",", ":"), ensure_ascii=False)
    escaped = 5 * sum(map(text.count, "<>&")) + 3 * text.count("\u2028")
    return len(text.encode(errors="replace")) + escaped

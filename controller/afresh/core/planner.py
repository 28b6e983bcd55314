"""`decide` computes one `Decision` from one `Observed`. It is the only entry point of the core."""

from collections.abc import Iterator
from datetime import timedelta

from afresh.api.subtask import SubtaskEntry, SubtaskObjectSpec
from afresh.core.decision import (
    Action,
    CreateSubtask,
    Decision,
    DeleteSubtask,
    Isolate,
    OpenGate,
    RuleResult,
    SetGate,
    StartEpisode,
    StartSync,
    UpdateSubtask,
)
from afresh.core.history.credential_gate import credential_of
from afresh.core.names import subtask_name
from afresh.core.notes import notes_of
from afresh.core.observed import Observed
from afresh.core.policy.cleanup import LEFT_BEHIND_AFTER, leftovers, outlives_its_end
from afresh.core.policy.plan_sync import looks_at_plan, plan_pushes
from afresh.core.policy.rules import RULES
from afresh.core.situation import Situation, situation_of

# Before an episode has started, its Events are read at these intervals. Later, the watch shows
# everything except a lost node.
LOOK_AT_START = timedelta(seconds=5)
# For a pod that is slow to start, the watch shows the cause, and Events are read less often.
SLOW_START = timedelta(seconds=60)
LOOK_AT_SLOW_START = timedelta(seconds=30)
LOOK_AT_RUN = timedelta(seconds=60)


def decide(seen: Observed) -> Decision:
    """Return the decision for `seen`. The same input always gives the same result."""
    situation = situation_of(seen)
    state = situation.state
    answer = next(filter(None, (rule(situation) for rule in RULES)))
    starts = (*answer.actions, *plan_pushes(situation, answer))
    records = (*(answer.records or state.records), *state.removed)
    return Decision(
        phase=answer.phase,
        reason=answer.reason,
        message=answer.message,
        # Deletions come first, because a start may need what they free. A gate closes before the
        # end is recorded: after a crash in between, the episode's end is found again.
        actions=(
            *leftovers(situation),
            *_gate(situation),
            *(OpenGate(wait=wait) for wait in state.waits.opened),
            *_isolation(situation, starts),
            *starts,
            *_children(seen),
        ),
        records=records,
        usage=state.usage,
        attempt_results=state.attempt_results,
        over=state.over,
        notes=tuple(notes_of(situation, answer, records)),
        syncs=state.syncs,
        wait=answer.wait,
        conflicts=state.conflicts,
        recheck_after=min(_looks(situation, answer, starts), default=None),
    )


def _children(seen: Observed) -> Iterator[Action]:
    """Yield the actions after which each entry has one equal child object, and no others exist."""
    if seen.package.metadata.deletion_timestamp:
        return
    package = seen.package.metadata.name
    existing = {child.metadata.name: child for child in seen.subtasks}
    wanted = {subtask_name(package, entry.id): entry for entry in seen.package.spec.subtasks}
    for name, entry in wanted.items():
        if name not in existing:
            yield CreateSubtask(entry=entry)
        elif existing[name].spec != child_spec(entry, package):
            yield UpdateSubtask(name=name, entry=entry)
    for name, child in existing.items():
        if name not in wanted and child.metadata.deletion_timestamp is None:
            yield DeleteSubtask(name=name, uid=child.metadata.uid)


def child_spec(entry: SubtaskEntry, package: str) -> SubtaskObjectSpec:
    """Return the spec of the child object of `entry`."""
    return SubtaskObjectSpec.model_validate({**dict(entry), "work_package_name": package})


def _gate(situation: Situation) -> Iterator[Action]:
    known, secret = situation.limits.gate, credential_of(situation.seen)
    if secret is None or situation.gate == known:
        return
    name = situation.limits.gate_class or situation.spec.agent_class_name
    yield SetGate(class_name=name, secret_name=secret, known=known, gate=situation.gate)


def _isolation(situation: Situation, starts: tuple[Action, ...]) -> Iterator[Action]:
    """Yield the action that writes NetworkPolicies, if they differ and a Job starts or runs."""
    begins = any(isinstance(item, StartEpisode | StartSync) for item in starts)
    if not situation.seen.isolated and (begins or situation.live or situation.syncs.live):
        yield Isolate()


def _looks(
    situation: Situation, answer: RuleResult, starts: tuple[Action, ...]
) -> Iterator[timedelta]:
    """Yield the delays after which to look again, for changes that no watch reports."""
    if answer.recheck_after is not None:
        yield answer.recheck_after
    yield from looks_at_plan(situation, answer)
    for episode, live in situation.live:
        starting = episode.pod is None or episode.pod.phase == "Pending" or live.problem
        soon = LOOK_AT_START if situation.now - episode.created < SLOW_START else LOOK_AT_SLOW_START
        yield soon if starting and not live.queued else LOOK_AT_RUN
    begins = answer.records or any(isinstance(item, StartSync) for item in starts)
    if begins or situation.syncs.live:
        yield LOOK_AT_START
    if outlives_its_end(situation):
        yield LEFT_BEHIND_AFTER

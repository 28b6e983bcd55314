"""Writes the marker of a failure into the plan on the branch.

Owns which failures change the plan. Nothing here changes an outcome: a failure becomes a warning.
The limits of `plan_commit` keep it below a minute, for which the pod's deadline has room.
"""

from afresh.contract.order import PlanLine
from afresh.contract.outcomes import TABLE
from afresh.contract.text import one_line
from afresh.contract.words import Marker
from afresh.episode.briefing import planned
from afresh.episode.context import EpisodeContext
from afresh.episode.git import plan_commit
from afresh.episode.git.faults import GitError
from afresh.episode.git.plan_commit import PlanChange
from afresh.episode.git.state_files import AgentNotes
from afresh.episode.state import SubtaskState, given
from afresh.episode.stopped import SubtaskStopped


def run(context: EpisodeContext, state: SubtaskState) -> None:
    """Push the plan with the subtask's marker, if the outcome changes the marker."""
    task, order = state.task, state.episode.order
    row = TABLE[given(state.result).outcome]
    is_last_chance = task.marker_on_failure is not Marker.PENDING
    marker = row.marker_of_failure(is_last_chance=is_last_chance)
    if marker is None:
        return
    context.reporter.stage("plan")
    change = PlanChange(
        text=planned(order, task, marker),
        line=PlanLine(id=task.id, title=task.title, marker=marker, revision=task.revision),
        notes=_notes(context, state),
    )
    try:
        found = plan_commit.push_plan(context.git, order, given(state.start), change)
    except (SubtaskStopped, GitError, OSError) as error:
        context.log.ended(error)
        why = f" {error.message}" if isinstance(error, SubtaskStopped) else ""
        state.warnings += (f"The plan on the branch does not show {marker} for {task.id}.{why}",)
        return
    context.reporter.reached("pushed")
    context.reporter.update(head=found.head, plan_digest=found.plan_digest)


def _notes(context: EpisodeContext, state: SubtaskState) -> AgentNotes | None:
    outbox, redact = state.outbox, context.log.redact
    if outbox is None:
        return None
    asked = f"A person must decide: {one_line(outbox.blocked)}" if outbox.blocked else ""
    discovery = "\n\n".join(text for text in (asked, outbox.discovery) if text)
    return AgentNotes(
        heading=f"{state.task.id} {state.task.title}",
        discovery=redact(discovery),
        ideas=redact(outbox.ideas or ""),
    )

"""What is left to do when a subtask's outcome is decided: the plan on the branch, work set aside.

Owns which failures change the plan, and which leave work to keep. Nothing here changes an outcome:
what fails becomes a warning. With the limits of `plan_commit` and `aside` it takes less than a
minute, which the pod's deadline leaves.
"""

from collections.abc import Iterator

from afresh.contract.order import PlanLine, Task
from afresh.contract.outcomes import TABLE, Next
from afresh.contract.report import Result
from afresh.contract.text import one_line
from afresh.contract.words import Marker, Outcome
from afresh.episode.context import EpisodeContext
from afresh.episode.git import plan_commit, side_ref
from afresh.episode.git.faults import GitError
from afresh.episode.git.fetching import Start
from afresh.episode.git.plan_commit import PlanChange
from afresh.episode.git.state_files import Notes
from afresh.episode.stages.briefing import planned
from afresh.episode.state import EpisodeState
from afresh.episode.stopped import SubtaskStopped

# The remote has just failed; asking it again only takes time.
NO_REMOTE = frozenset({Outcome.INFRASTRUCTURE, Outcome.AUTH})


def clean_up(context: EpisodeContext, state: EpisodeState, task: Task, result: Result) -> list[str]:
    """Do what follows from the result; return a sentence for each thing that failed."""
    if result.commit:
        return [warning] if (warning := side_ref.remove(context, task.id)) else []
    return list(_after_failure(context, state, task, result))


def _after_failure(
    context: EpisodeContext, state: EpisodeState, task: Task, result: Result
) -> Iterator[str]:
    marker = _marker(task, result.outcome)
    if state.start and marker is not None:
        yield from _push_plan(context, state, state.start, task, marker)
    shot = state.shot
    if shot and shot.changes and not result.unpushed and result.outcome not in NO_REMOTE:
        context.reporter.stage("aside")
        warning = side_ref.keep(context, task, shot.head, shot.tree)
        if warning:
            yield warning


def _marker(task: Task, outcome: Outcome) -> Marker | None:
    """Return what the outcome makes of the subtask in the plan; None: it stays pending."""
    row = TABLE[outcome]
    if row.next is Next.REVIEW:
        return Marker.NEEDS_REVIEW
    if row.counts and task.marker_on_failure is not Marker.PENDING:
        return task.marker_on_failure
    return None


def _push_plan(
    context: EpisodeContext, state: EpisodeState, start: Start, task: Task, marker: Marker
) -> Iterator[str]:
    context.reporter.stage("plan")
    change = PlanChange(
        text=planned(context.order, task, marker),
        line=PlanLine(id=task.id, title=task.title, marker=marker, revision=task.revision),
        notes=_notes(context, state, task),
    )
    try:
        standing = plan_commit.push_plan(context.git, context.order, start, change)
    except (SubtaskStopped, GitError, OSError) as error:
        context.log.ended(error)
        why = f" {error.message}" if isinstance(error, SubtaskStopped) else ""
        yield f"The plan on the branch does not show {marker} for {task.id}.{why}"
        return
    context.reporter.reached("pushed")
    context.reporter.update(head=standing.head, plan_digest=standing.plan_digest)


def _notes(context: EpisodeContext, state: EpisodeState, task: Task) -> Notes | None:
    outbox, redact = state.outbox, context.log.redact
    if outbox is None:
        return None
    asked = f"A person must decide: {one_line(outbox.blocked)}" if outbox.blocked else ""
    discovery = "\n\n".join(text for text in (asked, outbox.discovery) if text)
    return Notes(
        heading=f"{task.id} {task.title}",
        discovery=redact(discovery),
        ideas=redact(outbox.ideas or ""),
    )

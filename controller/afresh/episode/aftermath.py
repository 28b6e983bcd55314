"""What is left to do when a subtask's outcome is decided: the plan on the branch, work set aside.

Owns which failures change the plan, and which leave work to keep. Nothing here changes an outcome:
what fails becomes a warning. With the limits of `plan_commit` and `aside` it takes less than a
minute, which the pod's deadline leaves.
"""

from collections.abc import Iterator

from afresh.contract.order import PlanLine, Task
from afresh.contract.report import Result
from afresh.contract.words import Marker, Outcome
from afresh.core.outcome import TABLE, Next
from afresh.core.text import one_line
from afresh.episode.briefing import planned
from afresh.episode.desk import Desk
from afresh.episode.ending import Ended
from afresh.episode.repository import aside, plan_commit
from afresh.episode.repository.git_faults import GitError
from afresh.episode.repository.plan_commit import PlanChange
from afresh.episode.repository.prepare import Start
from afresh.episode.repository.state_files import Notes
from afresh.episode.workplace import Workplace

# The remote has just failed; asking it again only takes time.
NO_REMOTE = frozenset({Outcome.INFRASTRUCTURE, Outcome.AUTH})


def tidy_up(work: Workplace, desk: Desk, task: Task, result: Result) -> list[str]:
    """Do what follows from the result; return a sentence for each thing that failed."""
    if result.commit:
        return [warning] if (warning := aside.remove(work, task.id)) else []
    return list(_after_failure(work, desk, task, result))


def _after_failure(work: Workplace, desk: Desk, task: Task, result: Result) -> Iterator[str]:
    marker = _marker(task, result.outcome)
    if desk.start and marker is not None:
        yield from _push_plan(work, desk, desk.start, task, marker)
    shot = desk.shot
    if shot and shot.changes and not result.unpushed and result.outcome not in NO_REMOTE:
        work.reporter.stage("aside")
        warning = aside.keep(work, task, shot.head, shot.tree)
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
    work: Workplace, desk: Desk, start: Start, task: Task, marker: Marker
) -> Iterator[str]:
    work.reporter.stage("plan")
    change = PlanChange(
        text=planned(work.order, task, marker),
        line=PlanLine(id=task.id, title=task.title, marker=marker, revision=task.revision),
        notes=_notes(work, desk, task),
    )
    try:
        standing = plan_commit.push_plan(work.git, work.order, start, change)
    except (Ended, GitError, OSError) as error:
        work.log.ended(error)
        why = f" {error.message}" if isinstance(error, Ended) else ""
        yield f"The plan on the branch does not show {marker} for {task.id}.{why}"
        return
    work.reporter.reached("pushed")
    work.reporter.update(head=standing.head, plan_digest=standing.plan_digest)


def _notes(work: Workplace, desk: Desk, task: Task) -> Notes | None:
    outbox, redact = desk.outbox, work.log.redact
    if outbox is None:
        return None
    asked = f"A person must decide: {one_line(outbox.blocked)}" if outbox.blocked else ""
    discovery = "\n\n".join(text for text in (asked, outbox.discovery) if text)
    return Notes(
        heading=f"{task.id} {task.title}",
        discovery=redact(discovery),
        ideas=redact(outbox.ideas or ""),
    )

"""Puts work on the branch that an agent has done before and that could not be pushed then.

Owns when no agent is needed for that: where the kept commit still fits, as it is or verified anew
on top of what others have pushed.
"""

from afresh.contract.order import Task
from afresh.contract.report import Result, Unpushed
from afresh.contract.words import Outcome, PushRefusal
from afresh.core import plan_file
from afresh.episode.briefing import standing_in
from afresh.episode.conclusion import Candidate, put_on_branch
from afresh.episode.desk import Desk
from afresh.episode.ending import Ended
from afresh.episode.repository import kept, persist, rebase, worktree
from afresh.episode.repository.git_faults import GitError
from afresh.episode.repository.kept import KeptCommit
from afresh.episode.repository.prepare import Start
from afresh.episode.workplace import Workplace

# With these the work does not fit any more, and an agent does it anew.
NO_FIT = frozenset({Outcome.CONFLICT, Outcome.VERIFY_FAILED})


def redeliver(work: Workplace, desk: Desk, start: Start, task: Task) -> Result | None:
    """Deliver the kept work of `task`. None: an agent is needed.

    Raises Ended if the server takes no push, or cannot be reached.
    """
    found = kept.fetch(work.git, work.order, task.id, task.kept or "")
    if found is None:
        work.log.say(f"the kept work of {task.id} is not there any more")
        return None
    work.log.say(f"the kept work of {task.id} is delivered")
    if found.parent == start.head:
        return _as_it_is(work, desk, start, task, found)
    try:
        shot = rebase.rebase(work.git, work.order, kept.snapshot_of(work.git, found), start)
        plan = rebase.plan_at(work.git, work.order, task, start.head)
        return put_on_branch(work, desk, task, Candidate(shot=shot, start=start, plan=plan))
    except GitError as error:
        work.log.ended(error)
    except Ended as ended:
        if ended.unpushed and (ended.unpushed.kept or ended.unpushed.refusal):
            raise
        if ended.outcome not in NO_FIT:
            raise
        work.log.ended(ended)
    return None


def _as_it_is(work: Workplace, desk: Desk, start: Start, task: Task, found: KeptCommit) -> Result:
    """Push the very commit that was verified: nothing has come in between."""
    work.reporter.stage("persist")
    try:
        persist.push(work.git, work.order, start, found.id)
    except Ended as ended:
        refusal = PushRefusal.KEPT if persist.is_refusal(ended) else None
        unpushed = Unpushed(refusal=refusal, kept=found.id)
        raise Ended(ended.outcome, ended.message, unpushed=unpushed) from ended.__cause__
    text = worktree.plan_text(work.git, found.id)
    work.reporter.reached("pushed")
    work.reporter.update(head=found.id, plan_digest=plan_file.digest(text), push_passed=True)
    desk.pushed = found.id
    desk.plan = standing_in(text, work.order)
    return Result(id=task.id, outcome=Outcome.SUCCESS, revision=task.revision, commit=found.id)

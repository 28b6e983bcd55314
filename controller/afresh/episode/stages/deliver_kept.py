"""Puts work on the branch that an agent has done before and that could not be pushed then.

Owns when no agent is needed for that: where the kept commit still fits, as it is or verified anew
on top of what others have pushed.
"""

from afresh.contract import plan_file
from afresh.contract.order import Task
from afresh.contract.report import Result, Unpushed
from afresh.contract.words import Outcome, PushRefusal
from afresh.episode.context import EpisodeContext
from afresh.episode.git import kept_work, push, rebase, worktree
from afresh.episode.git.faults import GitError
from afresh.episode.git.fetching import Start
from afresh.episode.git.kept_work import KeptCommit
from afresh.episode.stages.briefing import standing_in
from afresh.episode.stages.commit_and_push import Candidate, put_on_branch
from afresh.episode.state import EpisodeState
from afresh.episode.stopped import SubtaskStopped

# With these the work does not fit any more, and an agent does it anew.
NO_FIT = frozenset({Outcome.CONFLICT, Outcome.VERIFY_FAILED})


def redeliver(
    context: EpisodeContext, state: EpisodeState, start: Start, task: Task
) -> Result | None:
    """Deliver the kept work of `task`. None: an agent is needed.

    Raises Ended if the server takes no push, or cannot be reached.
    """
    found = kept_work.fetch(context.git, context.order, task.id, task.kept or "")
    if found is None:
        context.log.say(f"the kept work of {task.id} is not there any more")
        return None
    context.log.say(f"the kept work of {task.id} is delivered")
    if found.parent == start.head:
        return _as_it_is(context, state, start, task, found)
    try:
        shot = rebase.rebase(
            context.git, context.order, kept_work.snapshot_of(context.git, found), start
        )
        plan = rebase.plan_at(context.git, context.order, task, start.head)
        return put_on_branch(context, state, task, Candidate(shot=shot, start=start, plan=plan))
    except GitError as error:
        context.log.ended(error)
    except SubtaskStopped as ended:
        if ended.unpushed and (ended.unpushed.kept or ended.unpushed.refusal):
            raise
        if ended.outcome not in NO_FIT:
            raise
        context.log.ended(ended)
    return None


def _as_it_is(
    context: EpisodeContext, state: EpisodeState, start: Start, task: Task, found: KeptCommit
) -> Result:
    """Push the very commit that was verified: nothing has come in between."""
    context.reporter.stage("persist")
    try:
        push.push(context.git, context.order, start, found.id)
    except SubtaskStopped as ended:
        refusal = PushRefusal.KEPT if push.is_refusal(ended) else None
        unpushed = Unpushed(refusal=refusal, kept=found.id)
        raise SubtaskStopped(ended.outcome, ended.message, unpushed=unpushed) from ended.__cause__
    text = worktree.plan_text(context.git, found.id)
    context.reporter.reached("pushed")
    context.reporter.update(head=found.id, plan_digest=plan_file.digest(text), push_passed=True)
    state.pushed = found.id
    state.plan = standing_in(text, context.order)
    return Result(id=task.id, outcome=Outcome.SUCCESS, revision=task.revision, commit=found.id)

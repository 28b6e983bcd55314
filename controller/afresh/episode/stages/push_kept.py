"""Pushes the verified work of an earlier agent that could not be pushed at the time.

If the branch has not moved, the verified commit itself is pushed. Otherwise the work becomes a
candidate that is rebased and verified again.
"""

from afresh.contract import plan_file
from afresh.contract.report import Result, Unpushed
from afresh.contract.words import Outcome, PushRefusal
from afresh.episode.briefing import with_markers_of
from afresh.episode.context import EpisodeContext
from afresh.episode.git import kept_work, push, worktree
from afresh.episode.git.faults import GitError
from afresh.episode.git.kept_work import KeptCommit
from afresh.episode.state import Candidate, SubtaskState, given
from afresh.episode.stopped import SubtaskStopped


def run(context: EpisodeContext, state: SubtaskState) -> Result | None:
    """Push the kept work of the subtask and return its result, if it fits unchanged; else None.

    Raises SubtaskStopped if the server accepts no push or cannot be reached.
    """
    task = state.task
    found = kept_work.fetch(context.git, context.order, task.id, task.kept or "")
    if found is None:
        context.log.say(f"the kept work of {task.id} no longer exists")
        return None
    context.log.say(f"the kept work of {task.id} is pushed again")
    if found.parent == given(state.start).head:
        return _push(context, state, found)
    try:
        snapshot = kept_work.snapshot_of(context.git, found)
    except GitError as error:
        context.log.ended(error)
    else:
        state.candidate = Candidate(snapshot=snapshot, plan="")
    return None


def _push(context: EpisodeContext, state: SubtaskState, found: KeptCommit) -> Result:
    context.reporter.stage("persist")
    task, episode = state.task, state.episode
    try:
        push.push(context.git, context.order, given(state.start), found.id)
    except SubtaskStopped as stopped:
        refusal = PushRefusal.KEPT if push.is_refusal(stopped) else None
        unpushed = Unpushed(refusal=refusal, kept=found.id)
        raise SubtaskStopped(
            stopped.outcome, stopped.message, unpushed=unpushed
        ) from stopped.__cause__
    text = worktree.plan_text(context.git, found.id)
    context.reporter.reached("pushed")
    context.reporter.update(head=found.id, plan_digest=plan_file.digest(text), push_passed=True)
    episode.pushed = found.id
    episode.order = with_markers_of(text, episode.order)
    return Result(id=task.id, outcome=Outcome.SUCCESS, revision=task.revision, commit=found.id)

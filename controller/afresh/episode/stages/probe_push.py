"""Tests in a sync, without an agent, whether the server accepts pushes again.

Owns the order of the attempts: first the kept commits as they were verified, then the plan alone.
"""

from afresh.contract import plan_file
from afresh.contract.order import Kept, PlanLine
from afresh.contract.report import Result, Unpushed
from afresh.contract.sentences import with_details
from afresh.contract.words import Marker, Outcome, PushRefusal
from afresh.episode.context import EpisodeContext
from afresh.episode.git import fetching, kept_work, push, side_ref, worktree
from afresh.episode.git.fetching import BranchStart
from afresh.episode.git.history import find_done
from afresh.episode.git.plan_commit import BranchPlan
from afresh.episode.git.push_check import check_push
from afresh.episode.state import BranchState, given
from afresh.episode.stopped import SubtaskStopped


def run(context: EpisodeContext, state: BranchState) -> None:
    """Push the kept commits that still fit, or the plan alone.

    Work that no longer fits the branch is left to an episode, which can verify it again. Raises
    SubtaskStopped if the server refuses everything.
    """
    state.on_branch = _probe(context, given(state.start))
    context.reporter.update(push_passed=True)
    context.reporter.reached("pushed")


def _probe(context: EpisodeContext, begun: BranchStart) -> BranchPlan:
    start, refused = begun, None
    for item in context.order.kept:
        try:
            start = _push(context, start, item)
        except SubtaskStopped as stopped:
            if not push.is_refusal(stopped):
                raise
            refused = stopped
    if start is not begun:
        return BranchPlan(head=start.head, plan_digest=_digest(context, start))
    if refused:
        raise refused
    passed = check_push(context.git, context.order, start)
    return BranchPlan(head=passed.start.head, plan_digest=passed.plan_digest)


def _push(context: EpisodeContext, start: BranchStart, item: Kept) -> BranchStart:
    """Push the kept commit if it fits; return the start that the branch gives afterwards."""
    line = PlanLine(id=item.id, title="", marker=Marker.PENDING, revision=item.revision)
    done = find_done(start.commits, context.order, line)
    if done:
        _report(context, item, done.id)
        return start
    found = kept_work.fetch(context.git, context.order, item.id, item.commit)
    if found is None or found.parent != start.head:
        context.log.say(f"the kept work of {item.id} has to be verified again")
        return start
    try:
        push.push(context.git, context.order, start, found.id)
    except SubtaskStopped as stopped:
        if not push.is_refusal(stopped):
            raise
        ref = side_ref.side_ref(context.order, item.id)
        message = with_details(stopped.message, f"The verified work of {item.id} is kept on {ref}.")
        unpushed = Unpushed(refusal=PushRefusal.KEPT, kept=item.commit)
        raise SubtaskStopped(stopped.outcome, message, unpushed=unpushed) from stopped.__cause__
    _report(context, item, found.id)
    side_ref.remove(context, item.id)
    return fetching.start_at(context.git, found.id, start)


def _report(context: EpisodeContext, item: Kept, commit: str) -> None:
    context.log.say(f"{item.id} is done in {commit}")
    context.reporter.add(
        Result(id=item.id, outcome=Outcome.SUCCESS, revision=item.revision, commit=commit)
    )


def _digest(context: EpisodeContext, start: BranchStart) -> str:
    return plan_file.digest(worktree.plan_text(context.git, start.head))

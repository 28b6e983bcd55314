"""A sync that finds out whether the server takes pushes again: the runner alone, and no agent.

Owns the order of what it tries: first what is kept, each commit as it was verified, then the plan
alone.
"""

from afresh.contract import plan_file
from afresh.contract.order import Kept, PlanLine
from afresh.contract.report import Result, Unpushed
from afresh.contract.sentences import with_details
from afresh.contract.words import Marker, Outcome, PushRefusal
from afresh.episode.context import EpisodeContext
from afresh.episode.git import fetching, kept_work, push, side_ref, worktree
from afresh.episode.git.fetching import Start
from afresh.episode.git.history import find_done
from afresh.episode.git.plan_commit import Standing
from afresh.episode.git.push_check import check_push
from afresh.episode.stopped import SubtaskStopped


def probe_push(context: EpisodeContext, start: Start) -> Standing:
    """Deliver what is kept and still fits, or push the plan alone. Raises Ended if all is refused.

    What does not fit the branch any more is left to an episode, which can verify it anew.
    """
    begun, refused = start, None
    for item in context.order.kept:
        try:
            start = _deliver(context, start, item)
        except SubtaskStopped as ended:
            if not push.is_refusal(ended):
                raise
            refused = ended
    if start is not begun:
        context.reporter.update(push_passed=True)
        return Standing(head=start.head, plan_digest=_digest(context, start))
    if refused:
        raise refused
    passed = check_push(context.git, context.order, start)
    context.reporter.update(push_passed=True)
    return Standing(head=passed.start.head, plan_digest=passed.plan_digest)


def _deliver(context: EpisodeContext, start: Start, item: Kept) -> Start:
    """Return where the branch is once the commit is on it, if it fits."""
    line = PlanLine(id=item.id, title="", marker=Marker.PENDING, revision=item.revision)
    done = find_done(start.commits, context.order, line)
    if done:
        _report(context, item, done.id)
        return start
    found = kept_work.fetch(context.git, context.order, item.id, item.commit)
    if found is None or found.parent != start.head:
        context.log.say(f"the kept work of {item.id} has to be verified anew")
        return start
    try:
        push.push(context.git, context.order, start, found.id)
    except SubtaskStopped as ended:
        if not push.is_refusal(ended):
            raise
        ref = side_ref.side_ref(context.order, item.id)
        message = with_details(ended.message, f"The verified work of {item.id} is kept on {ref}.")
        unpushed = Unpushed(refusal=PushRefusal.KEPT, kept=item.commit)
        raise SubtaskStopped(ended.outcome, message, unpushed=unpushed) from ended.__cause__
    _report(context, item, found.id)
    side_ref.remove(context, item.id)
    return fetching.start_at(context.git, found.id, start)


def _report(context: EpisodeContext, item: Kept, commit: str) -> None:
    context.log.say(f"{item.id} is done in {commit}")
    context.reporter.add(
        Result(id=item.id, outcome=Outcome.SUCCESS, revision=item.revision, commit=commit)
    )


def _digest(context: EpisodeContext, start: Start) -> str:
    return plan_file.digest(worktree.plan_text(context.git, start.head))

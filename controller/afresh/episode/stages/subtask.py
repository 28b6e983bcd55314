"""One subtask: look whether it is done, and if not, have it done.

Owns where the work starts. Everything after that is `delivery`.
"""

from afresh.contract.order import Task
from afresh.contract.report import Result
from afresh.episode.context import EpisodeContext
from afresh.episode.git import fetching, recorded_commits
from afresh.episode.git.fetching import Start
from afresh.episode.git.history import caught_up, find_done
from afresh.episode.stages.already_done import found_done
from afresh.episode.stages.work import do_work
from afresh.episode.state import EpisodeState


def do_subtask(context: EpisodeContext, state: EpisodeState, task: Task) -> Result:
    """Do `task`, or find it done. Raises Ended if it is not done afterwards.

    The first subtask of the episode starts from what has been fetched; a later one starts from what
    is on the branch since then.
    """
    context.reporter.stage("prepare")
    start = state.start = _start(context, state)
    state.plan = caught_up(context.order, start.commits)
    context = state.on_plan(context)
    done = find_done(start.commits, context.order, task)
    if done:
        return found_done(context, state, start, task, done)
    if task.kept:
        from afresh.episode.stages.deliver_kept import redeliver  # noqa: PLC0415  # seldom needed

        delivered = redeliver(context, state, start, task)
        if delivered:
            return delivered
        start = state.start
    if context.order.push_check and not state.is_laid_out:
        start = state.start = _check_push(context, start)
    return do_work(context, state, start, task)


def _check_push(context: EpisodeContext, start: Start) -> Start:
    """Have the server take a push before an agent is paid for; return where the branch is then."""
    from afresh.episode.git.push_check import check_push  # noqa: PLC0415  # seldom needed

    passed = check_push(context.git, context.order, start)
    context.reporter.update(
        head=passed.start.head, plan_digest=passed.plan_digest, push_passed=True
    )
    return passed.start


def _start(context: EpisodeContext, state: EpisodeState) -> Start:
    if state.start is None:
        start = state.opening.start()
        recorded_commits.check(context, start)
        context.reporter.update(head=start.head)
        return start
    if state.pushed is None or state.pushed == state.start.head:
        return state.start
    return fetching.start_at(context.git, state.pushed, state.start)

"""The subtasks of one episode, one after another: the first that is not done ends it.

Owns the rule that each has a result of its own as soon as it is decided, before anything is tidied
up. How one is done is `subtask`; what is left to do after it is `aftermath`.
"""

from collections.abc import Sequence
from dataclasses import replace

from afresh.contract.order import Task
from afresh.contract.report import Result
from afresh.episode.context import EpisodeContext
from afresh.episode.gateway.model_faults import with_use
from afresh.episode.stages.fetch import FetchUnderWay
from afresh.episode.stages.subtask import do_subtask
from afresh.episode.state import EpisodeState
from afresh.episode.stopped import SubtaskStopped


def do_all(context: EpisodeContext, opening: FetchUnderWay) -> bool:
    """Do the subtasks of the Order. Returns whether all of them are done."""
    state = EpisodeState(opening=opening, plan=context.order.plan)
    *others, last = context.order.tasks
    for task in others:
        if not _do(context, state, task):
            return False
        context.reporter.hint()
    return _do(context, state, last)


def _do(context: EpisodeContext, state: EpisodeState, task: Task) -> bool:
    context = state.on_plan(context)
    context.reporter.begin(task.id, task.revision)
    context.meter.begin_subtask()
    state.clear()
    try:
        result = do_subtask(context, state, task)
    except SubtaskStopped as end:
        context.log.ended(end)
        result = _not_done(task, end)
    result = replace(result, warnings=(*state.warnings, *result.warnings))
    result = with_use(result, context.meter)
    context.reporter.update(usage=context.meter.usage())
    if not context.reporter.add(result):
        return False  # what fails after a TERM has failed because of it
    warnings = _tidy_up(state.on_plan(context), state, task, result)
    if warnings:
        context.reporter.add(replace(result, warnings=(*result.warnings, *warnings)))
    return result.commit is not None


def _not_done(task: Task, end: SubtaskStopped) -> Result:
    return Result(
        id=task.id,
        outcome=end.outcome,
        is_servers=end.is_servers,
        revision=task.revision,
        unpushed=end.unpushed,
        message=end.message,
        exit_code=end.exit_code,
        verify=end.verify,
    )


def _tidy_up(
    context: EpisodeContext, state: EpisodeState, task: Task, result: Result
) -> Sequence[str]:
    """Do what is left to do; return warnings. There is nothing after an ordinary success."""
    if result.commit and not task.has_work_aside:
        return ()
    from afresh.episode.stages.cleanup import clean_up  # noqa: PLC0415  # seldom needed

    return clean_up(context, state, task, result)

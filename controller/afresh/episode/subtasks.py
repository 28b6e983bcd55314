"""Runs the subtasks of one episode one after another; the first that is not done ends the episode.

Owns the rule that each subtask's result is reported as soon as it is known, before any follow-up.
The stages of one subtask are in `pipeline`.
"""

from dataclasses import replace
from functools import partial

from afresh.contract.order import Task
from afresh.contract.report import Result
from afresh.episode.context import EpisodeContext
from afresh.episode.fetch_ahead import FetchUnderWay
from afresh.episode.gateway.model_faults import with_use
from afresh.episode.pipeline import FOLLOW_UP, SUBTASK, run_subtask_stages
from afresh.episode.stage import Loading, begin_to_load, load_stages, run_stages
from afresh.episode.state import EpisodeState, SubtaskState
from afresh.episode.stopped import SubtaskStopped


def run_subtasks(context: EpisodeContext, fetch: FetchUnderWay) -> bool:
    """Run the subtasks of the Order. Returns whether all of them are done."""
    load_stages(SUBTASK, Loading.AT_START)
    import_rest = partial(begin_to_load, SUBTASK, Loading.WHILE_AGENT_WORKS)
    episode = EpisodeState(fetch=fetch, order=context.order, import_rest=import_rest)
    *others, last = context.order.tasks
    for task in others:
        if not _run(context, episode, task):
            return False
        context.reporter.hint()
    return _run(context, episode, last)


def _run(context: EpisodeContext, episode: EpisodeState, task: Task) -> bool:
    """Run a subtask and report its result. Returns whether it is done."""
    state = SubtaskState(episode=episode, task=task)
    context.reporter.begin(task.id, task.revision)
    context.meter.begin_subtask()
    result = _result(context, state)
    result = replace(result, warnings=(*state.warnings, *result.warnings))
    result = state.result = with_use(result, context.meter)
    context.reporter.update(usage=context.meter.usage())
    if not context.reporter.add(result):
        return False  # after a SIGTERM every failure is a consequence of it
    state.warnings = ()
    run_stages(context, state, *FOLLOW_UP)
    if state.warnings:
        context.reporter.add(replace(result, warnings=(*result.warnings, *state.warnings)))
    episode.start = state.start
    return result.commit is not None


def _result(context: EpisodeContext, state: SubtaskState) -> Result:
    with state.agent_scope:
        try:
            return run_subtask_stages(context, state)
        except SubtaskStopped as stopped:
            context.log.ended(stopped)
            return replace(stopped.result(state.task.id), revision=state.task.revision)

"""From what has been fetched to the end of the agent.

Owns what the agent is shown and when it starts. What becomes of its work is `conclusion`.
"""

import importlib
import threading
from dataclasses import replace
from typing import TYPE_CHECKING

from afresh.adapters.adapter import Adapter, Context, Launch
from afresh.adapters.registry import adapter_of
from afresh.contract.order import Task
from afresh.contract.report import Result
from afresh.contract.words import Marker, Outcome
from afresh.episode import model_access
from afresh.episode.agent_home import write_home
from afresh.episode.container.commands import GONE, meet
from afresh.episode.context import EpisodeContext
from afresh.episode.gateway.model_faults import budget_sentence, provider_fault
from afresh.episode.git import worktree
from afresh.episode.git.faults import GitError
from afresh.episode.git.fetching import Start
from afresh.episode.git.overlay import missing, shown
from afresh.episode.reporting.usage_updates import telling_usage
from afresh.episode.stages import run_agent
from afresh.episode.stages.briefing import brief_for, plan_on_branch, planned
from afresh.episode.stages.run_agent import AgentEnd
from afresh.episode.state import EpisodeState
from afresh.episode.stopped import SubtaskStopped

if TYPE_CHECKING:  # seldom needed
    from afresh.episode.stages.program_check import ProgramCheck

LATER = "afresh.episode.stages.commit_and_push"


def do_work(context: EpisodeContext, state: EpisodeState, start: Start, task: Task) -> Result:
    """Have the agent do `task`, and put it on the branch. Raises Ended if it is not done."""
    adapter = adapter_of(context.order.agent.adapter)
    used_up = context.meter.used_up
    if used_up:
        raise SubtaskStopped(Outcome.BUDGET_EXCEEDED, budget_sentence(used_up))
    context.git.exclude(adapter.droppings)
    end = _run(context, adapter, state, start, task)
    state.session = end.session
    from afresh.episode.stages.commit_and_push import commit_and_push  # noqa: PLC0415  # see `_started`

    return commit_and_push(context, state, start, task, end)


def _run(
    context: EpisodeContext, adapter: Adapter, state: EpisodeState, start: Start, task: Task
) -> AgentEnd:
    with model_access.open_access(context) as access:
        check = _program_check(context, task)
        launch = _lay_out(context, adapter, state, start, task, access.base_url)
        run_agent.get_ready(context)
        _await_verify(context, check, state, start)
        context.reporter.stage("agent")
        access.open()
        with telling_usage(context):
            reader = adapter.reader(behind_gateway=bool(access.base_url))
            end = run_agent.run_agent(context, launch, reader, lambda: _started(context))
    if not access.base_url and end.verdict.outcome is None:
        context.reporter.update(answered=True)  # its program's word: nobody else hears the provider
    context.reporter.update(
        stage="snapshot",
        usage=context.meter.usage(),
        not_before=context.meter.not_before,
        fault=provider_fault(context.meter.last_fault),
        log_tail=context.log.tail,
    )
    return end


def _program_check(context: EpisodeContext, task: Task) -> "ProgramCheck | None":
    if not task.verify.check:
        return None
    from afresh.episode.stages.program_check import ProgramCheck  # noqa: PLC0415  # seldom needed

    return ProgramCheck(context, task)


def _await_verify(
    context: EpisodeContext, check: "ProgramCheck | None", state: EpisodeState, start: Start
) -> None:
    """Wait until verify's container is there: no agent is paid while its image is missing.

    Both containers start while the runner prepares; what verify's has said waits to be read.
    """
    context.reporter.stage("containers")
    if check:
        check.finish(state, start)
    meet(context.verify_control)
    if context.verify_control.is_gone():
        raise SubtaskStopped(Outcome.INFRASTRUCTURE, GONE)


def _started(context: EpisodeContext) -> None:
    """Note it, and import what comes after the agent while it works."""
    context.reporter.reached("agentStarted")
    threading.Thread(
        target=importlib.import_module, args=(LATER,), name="import", daemon=True
    ).start()


def _lay_out(
    context: EpisodeContext,
    adapter: Adapter,
    state: EpisodeState,
    start: Start,
    task: Task,
    base_url: str | None,
) -> Launch:
    order, paths = context.order, context.paths
    plan = plan_on_branch(order, start, worktree.plan_text(context.git, start.head))
    layout = worktree.Layout(
        tree=shown(context.git, order, start.head),
        date=start.date,
        branch=order.repository.branch,
        plan=planned(replace(order, plan=plan), task, Marker.RUNNING),
    )
    kept = worktree.clear(context.git, paths.worktree) if state.is_laid_out else worktree.NOTHING
    try:
        worktree.lay_out(context.git, layout, paths.worktree, kept)
    except GitError as error:
        mirror = state.opening.mirror
        if mirror is None or not mirror.is_to_blame(error):
            raise
        raise mirror.damaged() from error
    state.is_laid_out = True
    brief = brief_for(order, task, start, plan, paths.worktree)
    run_context = Context(is_kept=len(order.tasks) > 1, session=state.session)
    launch = adapter.launch(order.agent, brief, base_url, run_context)
    state.warnings = (*launch.warnings, *missing(context.git, order, start.head))
    for warning in state.warnings:
        context.log.say(warning)
    write_home(paths.home, launch.home_files)
    context.reporter.reached("prepared")
    return launch

"""Prepares what the agent needs: worktree, brief, its program's files, gateway and container.

Owns what the agent can see. Creates the gateway, which accepts no request until the agent starts.
"""

from dataclasses import replace

from afresh.adapters.adapter import Context
from afresh.adapters.registry import adapter_of
from afresh.contract.order import PlanLine
from afresh.contract.sentences import with_details
from afresh.contract.text import one_line
from afresh.contract.words import Marker, Outcome
from afresh.episode import model_access
from afresh.episode.agent_home import write_home
from afresh.episode.briefing import brief_for, plan_on_branch, planned
from afresh.episode.container.commands import StepEnd, await_container, run_step
from afresh.episode.context import SETUP, EpisodeContext
from afresh.episode.gateway.model_faults import budget_sentence
from afresh.episode.git import worktree
from afresh.episode.git.faults import GitError
from afresh.episode.git.overlay import missing, tree_to_check_out
from afresh.episode.state import SubtaskState, given
from afresh.episode.stopped import SubtaskStopped

LAST_LINE_LENGTH = 200


def run(context: EpisodeContext, state: SubtaskState) -> None:
    """Prepare the agent's run. Raises SubtaskStopped if that is not possible."""
    adapter, start = adapter_of(context.order.agent.adapter), given(state.start)
    used_up = context.meter.used_up
    if used_up:
        raise SubtaskStopped(Outcome.BUDGET_EXCEEDED, budget_sentence(used_up))
    context.git.exclude(adapter.program_files)
    access = state.agent_scope.enter_context(model_access.open_access(context))
    state.access = access
    if state.task.verify.check:
        from afresh.episode.container.program_search import ProgramSearch  # noqa: PLC0415  # seldom

        state.search = ProgramSearch(context, state.task)
    plan = _lay_out(context, state)
    brief = brief_for(context.order, state.task, start, plan, context.paths.worktree)
    run_context = Context(is_kept=len(context.order.tasks) > 1, session=state.episode.session)
    launch = adapter.launch(context.order.agent, brief, access.base_url, run_context)
    launch = launch.with_key(access.key)
    state.warnings = (*launch.warnings, *missing(context.git, context.order, start.head))
    for warning in state.warnings:
        context.log.say(warning)
    write_home(context.paths.home, launch.home_files)
    state.launch = launch
    context.reporter.reached("prepared")
    _set_up(context)


def _lay_out(context: EpisodeContext, state: SubtaskState) -> tuple[PlanLine, ...]:
    """Fill the worktree; return the plan that the agent sees."""
    order, start, tree = context.order, given(state.start), context.paths.worktree
    plan = plan_on_branch(order, start, worktree.plan_text(context.git, start.head))
    layout = worktree.WorktreeLayout(
        tree=tree_to_check_out(context.git, order, start.head),
        date=start.date,
        branch=order.repository.branch,
        plan=planned(replace(order, plan=plan), state.task, Marker.RUNNING),
    )
    is_laid_out = state.episode.is_laid_out
    kept = worktree.clear(context.git, tree) if is_laid_out else worktree.NOTHING
    try:
        worktree.lay_out(context.git, layout, tree, kept)
    except GitError as error:
        mirror = state.episode.fetch.mirror
        if mirror is None or not mirror.is_to_blame(error):
            raise
        raise mirror.damaged() from error
    state.episode.is_laid_out = True
    return plan


def _set_up(context: EpisodeContext) -> None:
    """Wait for the agent's container, and run setup in it."""
    await_container(context.agent_control)
    context.reporter.reached("agentReady")
    setup = context.order.setup
    if setup is None:
        return
    end = run_step(context.agent_control, SETUP, setup, context.paths.agent_paths, context.log)
    if end.exit_code:
        raise setup_failed(end)


def setup_failed(end: StepEnd) -> SubtaskStopped:
    """Return the end of an episode whose setup command failed."""
    message = (
        f"The setup command failed with exit code {end.exit_code}; correct spec.setup of the "
        "WorkPackage or its image."
    )
    return SubtaskStopped(
        Outcome.CONFIG, with_details(message, _last_line(end.tail)), exit_code=end.exit_code
    )


def _last_line(tail: str) -> str:
    lines = [line for line in map(one_line, tail.splitlines()) if line]
    return lines[-1][:LAST_LINE_LENGTH] if lines else ""

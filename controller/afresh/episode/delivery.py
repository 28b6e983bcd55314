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
from afresh.episode import agent, model_access
from afresh.episode.agent import AgentEnd
from afresh.episode.agent_home import write_home
from afresh.episode.briefing import brief_for, plan_on_branch, planned
from afresh.episode.desk import Desk
from afresh.episode.ending import Ended
from afresh.episode.gateway.model_faults import budget_sentence, provider_fault
from afresh.episode.repository import worktree
from afresh.episode.repository.git_faults import GitError
from afresh.episode.repository.prepare import Start
from afresh.episode.repository.shown import missing, shown
from afresh.episode.step import GONE, meet
from afresh.episode.usage_hints import telling_usage
from afresh.episode.workplace import Workplace

if TYPE_CHECKING:  # seldom needed
    from afresh.episode.program_check import ProgramCheck

LATER = "afresh.episode.conclusion"


def deliver(work: Workplace, desk: Desk, start: Start, task: Task) -> Result:
    """Have the agent do `task`, and put it on the branch. Raises Ended if it is not done."""
    adapter = adapter_of(work.order.agent.adapter)
    used_up = work.meter.used_up
    if used_up:
        raise Ended(Outcome.BUDGET_EXCEEDED, budget_sentence(used_up))
    work.git.exclude(adapter.droppings)
    end = _run(work, adapter, desk, start, task)
    desk.session = end.session
    from afresh.episode.conclusion import conclude  # noqa: PLC0415  # see `_started`

    return conclude(work, desk, start, task, end)


def _run(work: Workplace, adapter: Adapter, desk: Desk, start: Start, task: Task) -> AgentEnd:
    with model_access.open_access(work) as access:
        check = _program_check(work, task)
        launch = _lay_out(work, adapter, desk, start, task, access.base_url)
        agent.get_ready(work)
        _await_verify(work, check, desk, start)
        work.reporter.stage("agent")
        access.open()
        with telling_usage(work):
            reader = adapter.reader(behind_gateway=bool(access.base_url))
            end = agent.run_agent(work, launch, reader, lambda: _started(work))
    if not access.base_url and end.verdict.outcome is None:
        work.reporter.update(answered=True)  # its program's word: nobody else hears the provider
    work.reporter.update(
        stage="snapshot",
        usage=work.meter.usage(),
        not_before=work.meter.not_before,
        fault=provider_fault(work.meter.last_fault),
        log_tail=work.log.tail,
    )
    return end


def _program_check(work: Workplace, task: Task) -> "ProgramCheck | None":
    if not task.verify.check:
        return None
    from afresh.episode.program_check import ProgramCheck  # noqa: PLC0415  # seldom needed

    return ProgramCheck(work, task)


def _await_verify(work: Workplace, check: "ProgramCheck | None", desk: Desk, start: Start) -> None:
    """Wait until verify's container is there: no agent is paid while its image is missing.

    Both containers start while the runner prepares; what verify's has said waits to be read.
    """
    work.reporter.stage("containers")
    if check:
        check.finish(desk, start)
    meet(work.verify_control)
    if work.verify_control.is_gone():
        raise Ended(Outcome.INFRASTRUCTURE, GONE)


def _started(work: Workplace) -> None:
    """Note it, and import what comes after the agent while it works."""
    work.reporter.reached("agentStarted")
    threading.Thread(
        target=importlib.import_module, args=(LATER,), name="import", daemon=True
    ).start()


def _lay_out(
    work: Workplace, adapter: Adapter, desk: Desk, start: Start, task: Task, base_url: str | None
) -> Launch:
    order, paths = work.order, work.paths
    plan = plan_on_branch(order, start, worktree.plan_text(work.git, start.head))
    layout = worktree.Layout(
        tree=shown(work.git, order, start.head),
        date=start.date,
        branch=order.repository.branch,
        plan=planned(replace(order, plan=plan), task, Marker.RUNNING),
    )
    kept = worktree.clear(work.git, paths.worktree) if desk.is_laid_out else worktree.NOTHING
    try:
        worktree.lay_out(work.git, layout, paths.worktree, kept)
    except GitError as error:
        mirror = desk.opening.mirror
        if mirror is None or not mirror.is_to_blame(error):
            raise
        raise mirror.damaged() from error
    desk.is_laid_out = True
    brief = brief_for(order, task, start, plan, paths.worktree)
    context = Context(is_kept=len(order.tasks) > 1, session=desk.session)
    launch = adapter.launch(order.agent, brief, base_url, context)
    desk.warnings = (*launch.warnings, *missing(work.git, order, start.head))
    for warning in desk.warnings:
        work.log.say(warning)
    write_home(paths.home, launch.home_files)
    work.reporter.reached("prepared")
    return launch

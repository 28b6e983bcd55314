"""One episode from its Order to its Report.

Owns the sequence of stages and the rule that there is always a Report. Each stage does its own.
"""

import os
import threading
import time
import traceback
from collections.abc import Iterable

from afresh.adapters.adapter import Adapter, Launch
from afresh.adapters.registry import find_adapter
from afresh.contract import codec
from afresh.contract.order import Order, Task
from afresh.contract.report import Report, Result, fit
from afresh.contract.words import Marker, Outcome
from afresh.core import plan_file
from afresh.core.outcome import PRECEDENCE
from afresh.episode import agent, credentials, persist, prepare, snapshot, worktree
from afresh.episode.briefing import brief_for
from afresh.episode.control import Control
from afresh.episode.ending import Ended
from afresh.episode.git import Git
from afresh.episode.hint import send_hint
from afresh.episode.history import find_done
from afresh.episode.log import Log
from afresh.episode.outbox import collect
from afresh.episode.paths import Paths
from afresh.episode.prepare import Start
from afresh.episode.redact import Redactor
from afresh.episode.report import Reporter
from afresh.episode.stop import on_terminate
from afresh.episode.verify import verify
from afresh.episode.workplace import Workplace

STAY_SECONDS = 2.5
STOPPED = "The runner was told to stop."
BROKEN = "The runner failed unexpectedly; see its log."


def run_episode(paths: Paths) -> int:
    """Do what the Order says, and report. Returns 0 only if every subtask is done."""
    began = time.time()
    try:
        order = codec.loads(Order, paths.order.read_text(encoding="utf-8"))
    except (OSError, codec.ContractError) as error:
        return _refuse_order(paths, str(error))
    work = _workplace(order, paths)
    work.reporter.reached("runnerStarted", began)
    on_terminate(lambda: _terminated(work))
    for control in (work.agent_control, work.verify_control):
        control.open()
    done = _do_all(work)
    if not work.reporter.close(Outcome.INFRASTRUCTURE, BROKEN):
        threading.Event().wait()  # told to stop meanwhile: that thread ends the process
    for control in (work.agent_control, work.verify_control):
        control.leave()
    return 0 if done else 1


def _workplace(order: Order, paths: Paths) -> Workplace:
    log = Log(Redactor(credentials.known_secrets(paths)))

    def post(report: bytes) -> None:
        if order.report_url:
            send_hint(order.report_url, paths.token, report, log)

    subtasks = tuple(task.id for task in order.tasks)
    return Workplace(
        order=order,
        paths=paths,
        git=Git(git_dir=paths.git_dir),
        log=log,
        reporter=Reporter(order.episode, subtasks, paths.termination_log, post),
        agent_control=Control(paths.agent_control),
        verify_control=Control(paths.verify_control),
    )


def _refuse_order(paths: Paths, problem: str) -> int:
    report = Report(episode="", stage="start", final=True, log_tail=problem)
    paths.termination_log.write_text(fit(report), encoding="utf-8")
    return 1


def _terminated(work: Workplace) -> None:
    """Report, then stay: the kubelet loses the message of a container that ends at once."""
    told = time.monotonic()
    work.log.say("told to stop")
    for control in (work.agent_control, work.verify_control):
        control.stop()
    work.reporter.close(Outcome.INFRASTRUCTURE, STOPPED)
    time.sleep(max(0.0, told + STAY_SECONDS - time.monotonic()))
    os._exit(1)


def _do_all(work: Workplace) -> bool:
    """Do the subtasks in order; the first that is not done ends the episode."""
    for task in work.order.tasks:
        try:
            result = _do(work, task)
        except Ended as end:
            work.log.say(end.message)
            result = Result(
                id=task.id,
                outcome=end.outcome,
                revision=task.revision,
                message=end.message,
                exit_code=end.exit_code,
                verify=end.verify,
            )
        except Exception:  # the top of the loop: there must be a Report whatever happened
            work.log.trouble(traceback.format_exc())
            return False
        work.reporter.add(result)
        if result.commit is None:
            return False
    return True


def _do(work: Workplace, task: Task) -> Result:
    work.reporter.stage("prepare")
    adapter = find_adapter(work.order.agent.adapter)
    if adapter is None:
        raise Ended(
            Outcome.CONFIG,
            f"This version has no adapter {work.order.agent.adapter}; "
            "correct spec.adapter of the AgentClass.",
        )
    start = _fetch(work, adapter)
    done = find_done(start.commits, work.order, task)
    if done:
        work.log.say(f"{task.id} is done in {done.id}")
        return Result(id=task.id, outcome=Outcome.SUCCESS, revision=task.revision, commit=done.id)
    launch = _lay_out(work, adapter, start, task)
    agent.get_ready(work)
    work.reporter.stage("agent")
    end = agent.run_agent(work, adapter, launch)
    work.reporter.update(stage="snapshot", log_tail=work.log.tail)
    return _conclude(work, task, start, end)


def _fetch(work: Workplace, adapter: Adapter) -> Start:
    credentials.write_git_credentials(work.order, work.paths)
    work.git.create(adapter.droppings)
    start = prepare.fetch_start(work.git, work.order)
    work.reporter.update(head=start.head)
    return start


def _lay_out(work: Workplace, adapter: Adapter, start: Start, task: Task) -> Launch:
    order, paths = work.order, work.paths
    layout = worktree.Layout(
        head=start.head,
        date=start.date,
        branch=order.repository.branch,
        plan=snapshot.planned(order, task, Marker.RUNNING),
    )
    worktree.lay_out(work.git, layout, paths.worktree)
    brief = brief_for(order, task, start, paths.worktree)
    launch = adapter.launch(order.agent, brief, None)
    paths.home.mkdir(parents=True, exist_ok=True)
    for name, content in launch.home_files.items():
        path = paths.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    work.reporter.reached("prepared")
    return launch


def _conclude(work: Workplace, task: Task, start: Start, end: agent.AgentEnd) -> Result:
    """Commit, verify and push what the agent left, if it may become part of the branch."""
    shot = _judge(work, task, start, end)
    made = snapshot.commit(work.git, work.order, task, shot, work.log.redact)
    work.reporter.reached("committed")
    work.reporter.stage("verify")
    verdict = verify(work, task, made.id)
    work.reporter.reached("verified")
    if verdict.problem:
        raise Ended(
            Outcome.VERIFY_FAILED,
            verdict.problem,
            exit_code=end.exit_code,
            verify=verdict.result,
        )
    work.reporter.stage("persist")
    persist.push(work.git, work.order, start, made.id)
    work.reporter.reached("pushed")
    work.reporter.update(head=made.id, plan_digest=plan_file.digest(made.plan))
    return Result(
        id=task.id,
        outcome=Outcome.SUCCESS if shot.changes else Outcome.NO_CHANGES,
        revision=task.revision,
        commit=made.id,
        exit_code=end.exit_code,
        verify=verdict.result,
    )


def _judge(work: Workplace, task: Task, start: Start, end: agent.AgentEnd) -> snapshot.Snapshot:
    """Return what is to be committed, or raise Ended with the outcome that comes first."""
    outbox = collect(work.paths.worktree)
    problems = []
    if end.verdict.outcome:
        problems.append(Ended(end.verdict.outcome, work.log.redact(end.verdict.message)))
    if outbox.blocked is not None:
        said = work.log.redact(outbox.blocked) or "The agent says that it cannot go on."
        problems.append(Ended(Outcome.BLOCKED, said))
    try:
        shot = snapshot.take(work.git, start.head, work.paths.worktree, outbox)
        snapshot.check_scope(task, shot)
    except Ended as problem:
        problems.append(problem)
    if not problems and not shot.changes and outbox.unchanged is None:
        problems.append(
            Ended(Outcome.NO_CHANGES, "The agent changed nothing and does not say why.")
        )
    if problems:
        raise _first(problems, end.exit_code)
    return shot


def _first(problems: Iterable[Ended], exit_code: int | None) -> Ended:
    problem = min(problems, key=lambda item: PRECEDENCE.index(item.outcome))
    return Ended(problem.outcome, problem.message, exit_code=exit_code)

"""One episode from its Order to its Report.

Owns the episode's life: reading the Order, the two control volumes, signals, and the rule that
there is always a Report. How one subtask is done is `subtask`.
"""

import os
import threading
import time

from afresh.contract import codec
from afresh.contract.order import ORDER_VERSION, Order, Task
from afresh.contract.report import Report, Result, fit
from afresh.contract.words import Outcome
from afresh.episode import credentials
from afresh.episode.control import Control
from afresh.episode.ending import Ended
from afresh.episode.git import Git
from afresh.episode.log import Log
from afresh.episode.meter import Meter
from afresh.episode.paths import Paths
from afresh.episode.process import on_terminate, process_start
from afresh.episode.redact import Redactor
from afresh.episode.report import Reporter
from afresh.episode.subtask import do_subtask
from afresh.episode.workplace import AGENT, SETUP, VERIFY, Workplace

STAY_SECONDS = 2.5
STOPPED = "The runner was told to stop."
BROKEN = "The runner failed unexpectedly; see its log."
ONE_SUBTASK = "This version does one subtask in an episode; set spec.context.mode FreshPerSubtask."


def run_episode(paths: Paths) -> int:
    """Do what the Order says, and report. Returns 0 only if every subtask is done."""
    try:
        order = _read_order(paths)
    except (OSError, codec.ContractError) as error:
        return _refuse_order(paths, str(error))
    work = _workplace(order, paths)
    work.reporter.reached("runnerStarted", process_start())
    on_terminate(lambda: _terminated(work))
    for control in (work.agent_control, work.verify_control):
        control.open()
    done = _do_all(work)
    if not work.reporter.close(Outcome.INFRASTRUCTURE, BROKEN):
        threading.Event().wait()  # told to stop meanwhile: that thread ends the process
    for control in (work.agent_control, work.verify_control):
        control.leave()
    return 0 if done else 1


def _read_order(paths: Paths) -> Order:
    order = codec.loads(Order, paths.order.read_text(encoding="utf-8"))
    if order.version != ORDER_VERSION:
        raise codec.ContractError(f"this runner knows no Order of version {order.version}")
    return order


def _workplace(order: Order, paths: Paths) -> Workplace:
    log = Log(Redactor(credentials.known_secrets(paths)))

    def post(report: bytes) -> None:
        from afresh.episode.hint import send_hint  # noqa: PLC0415  # needed last, costs 20 ms

        if order.report_url:
            send_hint(order.report_url, paths.token, report, log)

    subtasks = tuple(task.id for task in order.tasks)
    return Workplace(
        order=order,
        paths=paths,
        git=Git(git_dir=paths.git_dir),
        log=log,
        meter=Meter(order.agent.max_turns, order.agent.pricing),
        reporter=Reporter(order.episode, subtasks, paths.termination_log, post),
        agent_control=Control(paths.agent_control, (SETUP, AGENT)),
        verify_control=Control(paths.verify_control, (SETUP, VERIFY)),
    )


def _refuse_order(paths: Paths, problem: str) -> int:
    report = Report(episode="", stage="start", final=True, log_tail=problem)
    paths.termination_log.write_text(fit(report), encoding="utf-8")
    for directory in (paths.agent_control, paths.verify_control):
        Control(directory, ()).leave()
    return 1


def _terminated(work: Workplace) -> None:
    """Report, then stay: the kubelet loses the message of a container that ends at once."""
    told = time.monotonic()
    work.log.say("told to stop")
    for control in (work.agent_control, work.verify_control):
        control.stop()
    work.reporter.update(usage=work.meter.usage())
    work.reporter.close(Outcome.INFRASTRUCTURE, STOPPED)
    time.sleep(max(0.0, told + STAY_SECONDS - time.monotonic()))
    os._exit(1)


def _do_all(work: Workplace) -> bool:
    """Do the subtasks in order; the first that is not done ends the episode."""
    tasks = work.order.tasks
    if len(tasks) > 1:
        for task in tasks:
            work.reporter.add(_not_done(task, Ended(Outcome.CONFIG, ONE_SUBTASK)))
        return False
    for task in tasks:
        try:
            if not _do(work, task):
                return False
        except Exception as error:  # the top of the loop: there is a Report whatever happens
            work.log.failure(error)
            return False
    return True


def _do(work: Workplace, task: Task) -> bool:
    try:
        result = do_subtask(work, task)
    except Ended as end:
        work.log.ended(end)
        result = _not_done(task, end)
    work.reporter.add(result)
    return result.commit is not None


def _not_done(task: Task, end: Ended) -> Result:
    return Result(
        id=task.id,
        outcome=end.outcome,
        revision=task.revision,
        message=end.message,
        exit_code=end.exit_code,
        verify=end.verify,
    )

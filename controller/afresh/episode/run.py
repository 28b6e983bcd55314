"""One episode from its Order to its Report.

Owns the episode's life: the two control volumes, signals, and the rule that there is always a
Report. What is done in between is `batch`, or `sync`.
"""

import contextlib
import os
import threading
import time

from afresh.contract.order import Order
from afresh.contract.report import SYNC_ID, Report, fit
from afresh.contract.words import Outcome
from afresh.episode import credentials
from afresh.episode.authorities import share_authorities
from afresh.episode.batch import do_all
from afresh.episode.control import Control
from afresh.episode.gateway.meter import Meter
from afresh.episode.hints import Hints
from afresh.episode.log import Log
from afresh.episode.opening import Opening
from afresh.episode.paths import Paths
from afresh.episode.process import on_terminate, process_start
from afresh.episode.redact import Redactor
from afresh.episode.report import Reporter
from afresh.episode.repository.git import Git
from afresh.episode.workplace import AGENT, FIND, SETUP, VERIFY, Workplace

STAY_SECONDS = 2.5
STOPPED = "The runner was told to stop; another episode follows by itself."
BROKEN = "The runner failed unexpectedly; see its log."


def run_episode(order: Order, paths: Paths, opening: Opening) -> int:
    """Do what the Order says, and report. Returns 0 only if every subtask is done."""
    work = _workplace(order, paths)
    work.reporter.reached("runnerStarted", process_start())
    if not order.tasks:
        work.reporter.begin(SYNC_ID)  # before it can be told to stop: no result means success
    on_terminate(lambda: _terminated(work))
    controls = _controls(work)
    if controls:
        share_authorities(paths)
    for control in controls:
        control.open()
    done = _do(work, opening)
    if work.reporter.is_stopped or not work.reporter.close(Outcome.INFRASTRUCTURE, BROKEN):
        threading.Event().wait()  # told to stop meanwhile: that thread ends the process
    for control in controls:
        control.leave()
    return 0 if done else 1


def _controls(work: Workplace) -> tuple[Control, ...]:
    """A sync's pod has the runner alone."""
    return (work.agent_control, work.verify_control) if work.order.tasks else ()


def _workplace(order: Order, paths: Paths) -> Workplace:
    log = Log(Redactor(credentials.known_secrets(paths)))

    def send(report: bytes) -> None:
        from afresh.episode.hint import (  # noqa: PLC0415  # needed late, costs 12 ms
            Destination,
            send_hint,
        )

        if order.report_url:
            to = Destination(order.report_url, order.report_pins)
            send_hint(to, paths.token, report, log)

    hints = Hints(send) if order.report_url else None
    meter = Meter(order.agent.max_turns, order.agent.pricing, order.budget, order.agent.model)
    reporter = Reporter(order.episode, paths.termination_log, hints)
    # A runner that is killed has told what was used until then, and what may be used by then.
    meter.on_use = lambda: reporter.update(usage=meter.usage(), answered=meter.has_answered)
    return Workplace(
        order=order,
        paths=paths,
        git=Git(git_dir=paths.git_dir),
        log=log,
        meter=meter,
        reporter=reporter,
        agent_control=Control(paths.agent_control, (SETUP, AGENT)),
        verify_control=Control(paths.verify_control, (SETUP, VERIFY, FIND)),
    )


def refuse_order(paths: Paths, problem: str) -> int:
    """Report an Order that cannot be read; return the exit code of the container."""
    report = Report(episode="", stage="start", final=True, log_tail=problem)
    paths.termination_log.write_text(fit(report), encoding="utf-8")
    with contextlib.suppress(OSError):  # it may have been a sync's, whose pod has no such volumes
        for directory in (paths.agent_control, paths.verify_control):
            Control(directory, ()).leave()
    return 1


def _terminated(work: Workplace) -> None:
    """Report, then stay: the kubelet loses the message of a container that ends at once."""
    told = time.monotonic()
    work.reporter.stopped()  # before anything ends because of it
    work.log.say("told to stop")
    for control in _controls(work):
        control.stop()
    work.reporter.update(usage=work.meter.usage())
    work.reporter.close(Outcome.INFRASTRUCTURE, STOPPED)
    time.sleep(max(0.0, told + STAY_SECONDS - time.monotonic()))
    os._exit(1)


def _do(work: Workplace, opening: Opening) -> bool:
    try:
        return do_all(work, opening) if work.order.tasks else _sync(work, opening)
    except Exception as error:  # the top: there is a Report whatever happens
        work.log.failure(error)
        return False


def _sync(work: Workplace, opening: Opening) -> bool:
    from afresh.episode.sync import run_sync  # noqa: PLC0415  # seldom needed

    problem = run_sync(work, opening)
    if problem is None:
        work.reporter.ended_well()
        return True
    work.reporter.add(problem)
    return False

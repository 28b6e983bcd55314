"""Runs one episode, from its Order to its Report.

Owns the episode's lifetime: the two control volumes, signals, and the rule that there is always a
Report. The work in between is in `subtasks` or, for an Order without subtasks, in `sync`.
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
from afresh.episode.container.channel import Channel
from afresh.episode.context import AGENT, FIND, SETUP, VERIFY, EpisodeContext
from afresh.episode.fetch_ahead import FetchUnderWay
from afresh.episode.gateway.meter import Meter
from afresh.episode.git.repository import GitRepository
from afresh.episode.paths import Paths
from afresh.episode.process import on_terminate, process_start
from afresh.episode.reporting.log import Log
from afresh.episode.reporting.redact import Redactor
from afresh.episode.reporting.reporter import Reporter
from afresh.episode.reporting.sender_queue import SenderQueue
from afresh.episode.subtasks import run_subtasks

STOPPED = "The runner was asked to stop; another episode starts automatically."
BROKEN = "The runner failed unexpectedly; read its log."


def run_episode(order: Order, paths: Paths, fetch: FetchUnderWay) -> int:
    """Carry out the Order and report. Returns the exit code: 0 only if every subtask is done."""
    context = _context(order, paths)
    context.reporter.reached("runnerStarted", process_start())
    if not order.tasks:
        context.reporter.begin(SYNC_ID)  # before SIGTERM is handled: no result means success
    on_terminate(lambda: _terminated(context))
    controls = _controls(context)
    if controls:
        share_authorities(paths)
    for control in controls:
        control.open()
    done = _do(context, fetch)
    if context.reporter.is_stopped or not context.reporter.close(Outcome.INFRASTRUCTURE, BROKEN):
        threading.Event().wait()  # after a SIGTERM, the thread that handles it ends the process
    for control in controls:
        control.leave()
    return 0 if done else 1


def _controls(context: EpisodeContext) -> tuple[Channel, ...]:
    """Return the control channels; the pod of a sync has no container but the runner."""
    return (context.agent_control, context.verify_control) if context.order.tasks else ()


def _context(order: Order, paths: Paths) -> EpisodeContext:
    log = Log(Redactor(credentials.known_secrets(paths)))

    def send(report: bytes) -> None:
        from afresh.episode.reporting.sender import Destination, send_hint  # noqa: PLC0415  # needed late, costs 12 ms

        if order.report_url:
            to = Destination(order.report_url, order.report_pins)
            send_hint(to, paths.token, report, log)

    hints = SenderQueue(send) if order.report_url else None
    meter = Meter(order.agent.max_turns, order.agent.pricing, order.budget, order.agent.model)
    reporter = Reporter(order.episode, paths.termination_log, hints)
    # Reported at once, with an upper bound for requests under way: the runner may be killed.
    meter.on_use = lambda: reporter.update(usage=meter.usage(), answered=meter.has_answered)
    return EpisodeContext(
        order=order,
        paths=paths,
        git=GitRepository(git_dir=paths.git_dir),
        log=log,
        meter=meter,
        reporter=reporter,
        agent_control=Channel(paths.agent_control, (SETUP, AGENT)),
        verify_control=Channel(paths.verify_control, (SETUP, VERIFY, FIND)),
    )


def refuse_order(paths: Paths, problem: str) -> int:
    """Report an Order that cannot be read; return the exit code of the container."""
    report = Report(episode="", stage="start", final=True, log_tail=problem)
    paths.termination_log.write_text(fit(report), encoding="utf-8")
    with contextlib.suppress(OSError):  # it may be a sync's Order, whose pod lacks these volumes
        for directory in (paths.agent_control, paths.verify_control):
            Channel(directory, ()).leave()
    return 1


def _terminated(context: EpisodeContext) -> None:
    """Report, then stay as long as whoever reads the Report needs."""
    received = time.monotonic()
    context.reporter.stopped()  # before anything fails because of the signal
    context.log.say("asked to stop")
    for control in _controls(context):
        control.stop()
    context.reporter.update(usage=context.meter.usage())
    context.reporter.close(Outcome.INFRASTRUCTURE, STOPPED)
    time.sleep(max(0.0, received + context.paths.stay_seconds - time.monotonic()))
    os._exit(1)


def _do(context: EpisodeContext, fetch: FetchUnderWay) -> bool:
    try:
        return run_subtasks(context, fetch) if context.order.tasks else _sync(context, fetch)
    except Exception as error:  # top level: there must be a Report whatever happens
        context.log.failure(error)
        return False


def _sync(context: EpisodeContext, fetch: FetchUnderWay) -> bool:
    from afresh.episode.sync import run_sync  # noqa: PLC0415  # seldom needed

    problem = run_sync(context, fetch)
    if problem is None:
        context.reporter.ended_well()
        return True
    context.reporter.add(problem)
    return False

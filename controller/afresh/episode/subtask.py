"""One subtask: look whether it is done, and if not, have it done.

Owns where the work starts. Everything after that is `delivery`.
"""

from afresh.contract.order import Task
from afresh.contract.report import Result
from afresh.episode.delivery import deliver
from afresh.episode.desk import Desk
from afresh.episode.found import found_done
from afresh.episode.repository import prepare, recorded
from afresh.episode.repository.history import caught_up, find_done
from afresh.episode.repository.prepare import Start
from afresh.episode.workplace import Workplace


def do_subtask(work: Workplace, desk: Desk, task: Task) -> Result:
    """Do `task`, or find it done. Raises Ended if it is not done afterwards.

    The first subtask of the episode starts from what has been fetched; a later one starts from what
    is on the branch since then.
    """
    work.reporter.stage("prepare")
    start = desk.start = _start(work, desk)
    desk.plan = caught_up(work.order, start.commits)
    work = desk.on_plan(work)
    done = find_done(start.commits, work.order, task)
    if done:
        return found_done(work, desk, start, task, done)
    if task.kept:
        from afresh.episode.redelivery import redeliver  # noqa: PLC0415  # seldom needed

        delivered = redeliver(work, desk, start, task)
        if delivered:
            return delivered
        start = desk.start
    if work.order.push_check and not desk.is_laid_out:
        start = desk.start = _check_push(work, start)
    return deliver(work, desk, start, task)


def _check_push(work: Workplace, start: Start) -> Start:
    """Have the server take a push before an agent is paid for; return where the branch is then."""
    from afresh.episode.repository.push_check import check_push  # noqa: PLC0415  # seldom needed

    passed = check_push(work.git, work.order, start)
    work.reporter.update(head=passed.start.head, plan_digest=passed.plan_digest, push_passed=True)
    return passed.start


def _start(work: Workplace, desk: Desk) -> Start:
    if desk.start is None:
        start = desk.opening.start()
        recorded.check(work, start)
        work.reporter.update(head=start.head)
        return start
    if desk.pushed is None or desk.pushed == desk.start.head:
        return desk.start
    return prepare.start_at(work.git, desk.pushed, desk.start)

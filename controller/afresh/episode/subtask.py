"""One subtask: look whether it is done, and if not, have it done.

Owns the beginning, which mostly waits for git's fetch; everything after that is `delivery`, whose
import costs as much time as the fetch and runs beside it.
"""

import importlib
import threading
from dataclasses import replace

from afresh.contract.order import Task
from afresh.contract.report import Result
from afresh.contract.words import Marker, Outcome
from afresh.episode import credentials, prepare
from afresh.episode.desk import Desk
from afresh.episode.history import Commit, find_done
from afresh.episode.prepare import Start
from afresh.episode.workplace import Workplace

LATER = "afresh.episode.delivery"


def do_subtask(work: Workplace, desk: Desk, task: Task) -> Result:
    """Do `task`, or find it done. Raises Ended if it is not done afterwards.

    The first subtask of the episode fetches what it starts from; a later one starts from what is on
    the branch since then.
    """
    work.reporter.stage("prepare")
    start = desk.start = _start(work, desk)
    done = find_done(start.commits, work.order, task)
    if done:
        return found_done(work, desk, task, done)
    from afresh.episode.delivery import deliver  # noqa: PLC0415  # imported by now, see above

    return deliver(work, desk, start, task)


def found_done(work: Workplace, desk: Desk, task: Task, done: Commit) -> Result:
    """Take note of a subtask that somebody else's commit has finished, below the desk's start."""
    from afresh.core import plan_file  # noqa: PLC0415  # as above
    from afresh.episode import worktree  # noqa: PLC0415

    work.log.say(f"{task.id} is done in {done.id}")
    if desk.start:
        text = worktree.plan_text(work.git, desk.start.head)
        work.reporter.update(
            head=desk.start.head, plan_digest=plan_file.digest(text) if text else None
        )
    desk.plan = tuple(
        replace(line, marker=Marker.DONE) if line.id == task.id else line for line in desk.plan
    )
    return Result(id=task.id, outcome=Outcome.SUCCESS, revision=task.revision, commit=done.id)


def _start(work: Workplace, desk: Desk) -> Start:
    if desk.start is None:
        return _fetch(work)
    if desk.pushed is None or desk.pushed == desk.start.head:
        return desk.start
    return prepare.start_at(work.git, desk.pushed, desk.start)


def _fetch(work: Workplace) -> Start:
    credentials.write_git_credentials(work.order, work.paths)
    prepare.check_remote(work.order)  # before the imports, which would slow it down
    threading.Thread(
        target=importlib.import_module, args=(LATER,), name="import", daemon=True
    ).start()
    work.git.create()
    start = prepare.fetch_start(work.git, work.order)
    work.reporter.update(head=start.head)
    return start

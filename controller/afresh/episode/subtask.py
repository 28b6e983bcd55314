"""One subtask: look whether it is done, and if not, have it done.

Owns the beginning, which mostly waits for git's fetch; everything after that is `delivery`, whose
import costs as much time as the fetch and runs beside it.
"""

import importlib
import threading

from afresh.contract.order import Task
from afresh.contract.report import Result
from afresh.contract.words import Outcome
from afresh.episode import credentials, prepare
from afresh.episode.history import find_done
from afresh.episode.workplace import Workplace

LATER = "afresh.episode.delivery"


def do_subtask(work: Workplace, task: Task) -> Result:
    """Do `task`, or find it done. Raises Ended if it is not done afterwards."""
    work.reporter.stage("prepare")
    credentials.write_git_credentials(work.order, work.paths)
    prepare.check_remote(work.order)  # before the imports, which would slow it down
    threading.Thread(
        target=importlib.import_module, args=(LATER,), name="import", daemon=True
    ).start()
    work.git.create()
    start = prepare.fetch_start(work.git, work.order)
    work.reporter.update(head=start.head)
    done = find_done(start.commits, work.order, task)
    if done:
        work.log.say(f"{task.id} is done in {done.id}")
        return Result(id=task.id, outcome=Outcome.SUCCESS, revision=task.revision, commit=done.id)
    from afresh.episode.delivery import deliver  # noqa: PLC0415  # imported by now, see above

    return deliver(work, start, task)

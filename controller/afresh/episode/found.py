"""Takes note of a subtask that a commit on the branch has finished: no agent is needed.

Owns what is reported of it. Whether there is such a commit is `history`'s to say.
"""

from dataclasses import replace

from afresh.contract.order import Task
from afresh.contract.report import Result
from afresh.contract.words import Marker, Outcome
from afresh.core import plan_file
from afresh.episode.desk import Desk
from afresh.episode.repository import worktree
from afresh.episode.repository.history import Commit
from afresh.episode.repository.prepare import Start
from afresh.episode.workplace import Workplace


def found_done(work: Workplace, desk: Desk, start: Start, task: Task, done: Commit) -> Result:
    """Report `done`, which is below `start`, and the plan that stands there."""
    work.log.say(f"{task.id} is done in {done.id}")
    text = worktree.plan_text(work.git, start.head)
    work.reporter.update(head=start.head, plan_digest=plan_file.digest(text) if text else None)
    desk.plan = tuple(
        replace(line, marker=Marker.DONE) if line.id == task.id else line for line in desk.plan
    )
    return Result(id=task.id, outcome=Outcome.SUCCESS, revision=task.revision, commit=done.id)

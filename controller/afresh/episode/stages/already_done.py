"""Takes note of a subtask that a commit on the branch has finished: no agent is needed.

Owns what is reported of it. Whether there is such a commit is `history`'s to say.
"""

from dataclasses import replace

from afresh.contract import plan_file
from afresh.contract.order import Task
from afresh.contract.report import Result
from afresh.contract.words import Marker, Outcome
from afresh.episode.context import EpisodeContext
from afresh.episode.git import worktree
from afresh.episode.git.fetching import Start
from afresh.episode.git.history import Commit
from afresh.episode.state import EpisodeState


def found_done(
    context: EpisodeContext, state: EpisodeState, start: Start, task: Task, done: Commit
) -> Result:
    """Report `done`, which is below `start`, and the plan that stands there."""
    context.log.say(f"{task.id} is done in {done.id}")
    text = worktree.plan_text(context.git, start.head)
    context.reporter.update(head=start.head, plan_digest=plan_file.digest(text) if text else None)
    state.plan = tuple(
        replace(line, marker=Marker.DONE) if line.id == task.id else line for line in state.plan
    )
    return Result(id=task.id, outcome=Outcome.SUCCESS, revision=task.revision, commit=done.id)

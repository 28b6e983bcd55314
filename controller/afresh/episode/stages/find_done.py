"""Recognizes a subtask that a commit on the branch has already finished, so no agent is needed.

Owns the result of such a subtask, and updates the episode's copy of the plan. `git.history` finds
the commit.
"""

from dataclasses import replace

from afresh.contract import plan_file
from afresh.contract.report import Result
from afresh.contract.words import Marker, Outcome
from afresh.episode.context import EpisodeContext
from afresh.episode.git import worktree
from afresh.episode.git.history import caught_up, find_done
from afresh.episode.state import SubtaskState, given


def run(context: EpisodeContext, state: SubtaskState) -> Result | None:
    """Return a success if the branch has the subtask's commit already; else None."""
    episode, task, start = state.episode, state.task, given(state.start)
    plan = caught_up(episode.order, start.commits)
    episode.order = replace(episode.order, plan=plan)
    done = find_done(start.commits, episode.order, task)
    if done is None:
        return None
    context.log.say(f"{task.id} is done in {done.id}")
    text = worktree.plan_text(context.git, start.head)
    context.reporter.update(head=start.head, plan_digest=plan_file.digest(text) if text else None)
    plan = tuple(replace(line, marker=Marker.DONE) if line.id == task.id else line for line in plan)
    episode.order = replace(episode.order, plan=plan)
    return Result(id=task.id, outcome=Outcome.SUCCESS, revision=task.revision, commit=done.id)

"""Pushes the verified commit, if the branch has not moved.

Verified work that cannot be pushed is kept on the subtask's side ref, so that no agent has to do it
again. Success is reported only for a commit that is on the branch.
"""

from afresh.contract import plan_file
from afresh.contract.order import Order, Task
from afresh.contract.report import Result, Unpushed
from afresh.contract.sentences import with_details
from afresh.contract.words import Outcome, PushRefusal
from afresh.episode.briefing import with_markers_of
from afresh.episode.context import EpisodeContext
from afresh.episode.git import fetching, push, red_flags, refusals, side_ref
from afresh.episode.git.fetching import BranchStart
from afresh.episode.git.overlay import publish
from afresh.episode.state import SubtaskState, given
from afresh.episode.stopped import SubtaskStopped

# The pod's deadline allows two minutes more than the limits of one run of each command.
SPARE_SECONDS = 60.0
SUMMARY_LENGTH = 400


def run(context: EpisodeContext, state: SubtaskState) -> Result | None:
    """Push the commit and return the result.

    Returns None if others have pushed: `start` is then the new head of the branch. Raises
    SubtaskStopped if the commit cannot be pushed.
    """
    start = given(state.start)
    try:
        publish(context.git, context.order)
        push.push(context.git, context.order, start, given(state.commit))
    except SubtaskStopped as stopped:
        if not _may_try_again(state, stopped):
            raise _kept(context, state, stopped) from stopped.__cause__
        refused = stopped
    else:
        return _pushed(context, state)
    context.log.say("the branch has moved; verifying the changes on top of it")
    moved = _moved_start(context, start)
    if moved is None:  # whatever the server answered, the branch has not moved
        raise _kept(context, state, refusals.declined(context.order)) from refused.__cause__
    state.start, state.episode.pushed = moved, None
    return None


def _may_try_again(state: SubtaskState, stopped: SubtaskStopped) -> bool:
    """Whether another push came first, and the deadline leaves time to verify once more."""
    lasted = given(state.verified).duration_seconds
    spent = given(state.candidate).spent_seconds + lasted
    return stopped.outcome is Outcome.CONFLICT and spent + lasted <= SPARE_SECONDS


def _moved_start(context: EpisodeContext, before: BranchStart) -> BranchStart | None:
    """Return the new start if the branch has moved; None if it has not."""
    try:
        start = fetching.fetch_moved(context.git, context.order)
    except SubtaskStopped as stopped:
        if stopped.outcome is Outcome.CONFLICT and not before.expected:
            return None
        raise
    return None if start.expected == before.expected else start


def _kept(context: EpisodeContext, state: SubtaskState, stopped: SubtaskStopped) -> SubtaskStopped:
    """Keep the verified commit on the side ref; return the end of the subtask, which says so."""
    if stopped.outcome is Outcome.AGENT_ERROR:  # the server refuses the work itself
        return _ended(state, stopped, stopped.message, None)
    context.reporter.stage("keep")
    commit = given(state.commit)
    problem = side_ref.keep_commit(context, state.task, commit)
    refusal = PushRefusal.LOST if problem else PushRefusal.KEPT
    unpushed = Unpushed(
        refusal=refusal if push.is_refusal(stopped) else None, kept=None if problem else commit
    )
    message = kept_message(context.order, state.task, stopped.message, problem)
    return _ended(state, stopped, message, unpushed)


def kept_message(order: Order, task: Task, message: str, problem: str | None) -> str:
    """Return `message` with where the verified work is kept, or with why it is lost (`problem`)."""
    place = f"The verified work of {task.id} is kept on {side_ref.side_ref(order, task.id)}."
    if problem:
        place = f"The verified work of {task.id} could not be kept either and is lost: {problem}"
    return with_details(message, place)


def _ended(
    state: SubtaskState, stopped: SubtaskStopped, message: str, unpushed: Unpushed | None
) -> SubtaskStopped:
    return SubtaskStopped(
        stopped.outcome,
        message,
        exit_code=state.exit_code,
        verify=state.verified,
        unpushed=unpushed,
    )


def _pushed(context: EpisodeContext, state: SubtaskState) -> Result:
    candidate, commit, redact = given(state.candidate), given(state.commit), context.log.redact
    snapshot, task, episode = candidate.snapshot, state.task, state.episode
    plan_digest = plan_file.digest(candidate.plan)
    context.reporter.reached("pushed")
    context.reporter.update(head=commit, plan_digest=plan_digest, push_passed=True)
    episode.pushed = commit
    episode.order = with_markers_of(candidate.plan, episode.order)
    return Result(
        id=task.id,
        outcome=Outcome.SUCCESS if snapshot.changes else Outcome.NO_CHANGES,
        revision=task.revision,
        commit=commit,
        summary=redact(snapshot.outbox.summary or snapshot.outbox.unchanged or "")[:SUMMARY_LENGTH],
        exit_code=state.exit_code,
        verify=state.verified,
        warnings=tuple(map(redact, red_flags.look_at(context.git, snapshot))),
    )

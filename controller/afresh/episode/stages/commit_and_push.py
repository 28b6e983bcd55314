"""From the end of the agent to a pushed commit: snapshot, verify, persist.

Owns the order of these stages. Success is said only of a commit that is on the branch. It is
imported while the agent works.
"""

from dataclasses import dataclass

from afresh.contract import plan_file
from afresh.contract.order import Order, Task
from afresh.contract.report import Result, Unpushed, VerifyResult
from afresh.contract.sentences import with_details
from afresh.contract.words import Marker, Outcome, PushRefusal
from afresh.episode.context import EpisodeContext
from afresh.episode.git import fetching, push, rebase, red_flags, refusals, side_ref, snapshot
from afresh.episode.git.fetching import Start
from afresh.episode.git.history import caught_up, find_done
from afresh.episode.git.overlay import publish
from afresh.episode.git.snapshot import Snapshot
from afresh.episode.stages.already_done import found_done
from afresh.episode.stages.briefing import planned, standing_in
from afresh.episode.stages.classify import classify
from afresh.episode.stages.run_agent import AgentEnd
from afresh.episode.stages.verify import verify
from afresh.episode.state import EpisodeState
from afresh.episode.stopped import SubtaskStopped

# The pod's deadline leaves two minutes beyond the limits of one run of each command.
SPARE_SECONDS = 60.0
SUMMARY_LENGTH = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What would be on the branch: these changes on the head of this start, with this plan."""

    shot: Snapshot
    start: Start
    plan: str
    exit_code: int | None = None


class NotPushed(SubtaskStopped):
    """The verified `commit` did not get onto the branch."""

    def __init__(
        self, ended: SubtaskStopped, commit: str, verified: VerifyResult, exit_code: int | None
    ) -> None:
        super().__init__(ended.outcome, ended.message, exit_code=exit_code, verify=verified)
        self.commit = commit
        self.verified = verified

    def as_(self, ended: SubtaskStopped) -> "NotPushed":
        """Return the same with another class and message."""
        return NotPushed(ended, self.commit, self.verified, self.exit_code)


def commit_and_push(
    context: EpisodeContext, state: EpisodeState, start: Start, task: Task, end: AgentEnd
) -> Result:
    """Judge, verify and push what the agent has left. Raises Ended if it is not done.

    If somebody else's push came first, the changes are verified and pushed anew on top of that.
    """
    shot = state.shot = classify(context, task, state, start, end)
    plan = planned(context.order, task, Marker.DONE)
    candidate = Candidate(shot=shot, start=start, plan=plan, exit_code=end.exit_code)
    return put_on_branch(context, state, task, candidate)


def put_on_branch(
    context: EpisodeContext, state: EpisodeState, task: Task, candidate: Candidate
) -> Result:
    """Verify and push the candidate. Raises Ended if it is not on the branch afterwards.

    Verified work that cannot be pushed is kept: no agent has to do it again.
    """
    spent = 0.0
    while True:
        try:
            result = _verify_and_push(context, task, candidate)
            state.pushed = result.commit
            state.plan = standing_in(candidate.plan, context.order)
            return result
        except NotPushed as failed:
            lasted = failed.verified.duration_seconds
            spent += lasted
            if failed.outcome is not Outcome.CONFLICT or spent + lasted > SPARE_SECONDS:
                raise kept_of(context, task, failed) from failed.__cause__
            refused = failed
        context.log.say("the branch has moved; verifying the changes on top of it")
        start = _moved_start(context, candidate)
        if start is None:  # whatever the server says of it, nobody else has pushed
            declined = refusals.declined(context.order)
            raise kept_of(context, task, refused.as_(declined)) from refused.__cause__
        state.start = start
        state.pushed, state.plan = None, caught_up(context.order, start.commits)
        done = find_done(start.commits, context.order, task)
        if done:
            return found_done(context, state, start, task, done)
        shot = state.shot = rebase.rebase(context.git, context.order, candidate.shot, start)
        candidate = Candidate(
            shot=shot,
            start=start,
            exit_code=candidate.exit_code,
            plan=rebase.plan_at(context.git, state.on_plan(context).order, task, start.head),
        )


def _moved_start(context: EpisodeContext, candidate: Candidate) -> Start | None:
    """Return where the branch is now; None: where it was."""
    before = candidate.start.expected
    try:
        start = fetching.fetch_moved(context.git, context.order)
    except SubtaskStopped as ended:
        if ended.outcome is Outcome.CONFLICT and not before:
            return None
        raise
    return None if start.expected == before else start


def kept_of(context: EpisodeContext, task: Task, failed: NotPushed) -> SubtaskStopped:
    """Keep the verified commit on the side ref; return how the episode ends, which says so."""
    if failed.outcome is Outcome.AGENT_ERROR:  # it is itself what the server does not take
        return failed
    context.reporter.stage("aside")
    problem = side_ref.keep_commit(context, task, failed.commit)
    return told_of_kept(context.order, task, failed, problem)


def told_of_kept(
    order: Order, task: Task, failed: NotPushed, problem: str | None
) -> SubtaskStopped:
    """Return how the episode ends whose work is kept, or lost if there is a `problem`."""
    told = f"The verified work of {task.id} is kept on {side_ref.side_ref(order, task.id)}."
    if problem:
        told = f"The verified work of {task.id} could not be kept either and is lost: {problem}"
    refusal = PushRefusal.LOST if problem else PushRefusal.KEPT
    return SubtaskStopped(
        failed.outcome,
        with_details(failed.message, told),
        exit_code=failed.exit_code,
        verify=failed.verified,
        unpushed=Unpushed(
            refusal=refusal if push.is_refusal(failed) else None,
            kept=None if problem else failed.commit,
        ),
    )


def _verify_and_push(context: EpisodeContext, task: Task, candidate: Candidate) -> Result:
    shot, redact = candidate.shot, context.log.redact
    made = snapshot.commit(context.git, context.order, task, shot, candidate.plan, redact)
    context.reporter.reached("committed")
    context.reporter.stage("verify")
    verdict = verify(context, task, made)
    context.reporter.reached("verified")
    if verdict.problem:
        raise SubtaskStopped(
            Outcome.VERIFY_FAILED,
            redact(verdict.problem),
            exit_code=candidate.exit_code,
            verify=verdict.result,
        )
    context.reporter.stage("persist")
    try:
        publish(context.git, context.order)
        push.push(context.git, context.order, candidate.start, made)
    except SubtaskStopped as ended:
        raise NotPushed(ended, made, verdict.result, candidate.exit_code) from ended.__cause__
    context.reporter.reached("pushed")
    context.reporter.update(
        head=made, plan_digest=plan_file.digest(candidate.plan), push_passed=True
    )
    return Result(
        id=task.id,
        outcome=Outcome.SUCCESS if shot.changes else Outcome.NO_CHANGES,
        revision=task.revision,
        commit=made,
        summary=redact(shot.outbox.summary or shot.outbox.unchanged or "")[:SUMMARY_LENGTH],
        exit_code=candidate.exit_code,
        verify=verdict.result,
        warnings=tuple(map(redact, red_flags.look_at(context.git, shot))),
    )

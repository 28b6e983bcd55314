"""From the end of the agent to a pushed commit: snapshot, verify, persist.

Owns the order of these stages. Success is said only of a commit that is on the branch. It is
imported while the agent works.
"""

from dataclasses import dataclass

from afresh.contract.order import Order, Task
from afresh.contract.report import Result, Unpushed, VerifyResult
from afresh.contract.sentences import with_details
from afresh.contract.words import Marker, Outcome, PushRefusal
from afresh.core import plan_file
from afresh.episode.agent import AgentEnd
from afresh.episode.briefing import planned, standing_in
from afresh.episode.desk import Desk
from afresh.episode.ending import Ended
from afresh.episode.found import found_done
from afresh.episode.judgement import judge
from afresh.episode.repository import aside, persist, prepare, rebase, red_flags, refusals, snapshot
from afresh.episode.repository.history import caught_up, find_done
from afresh.episode.repository.prepare import Start
from afresh.episode.repository.shown import publish
from afresh.episode.repository.snapshot import Snapshot
from afresh.episode.verify import verify
from afresh.episode.workplace import Workplace

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


class NotPushed(Ended):
    """The verified `commit` did not get onto the branch."""

    def __init__(
        self, ended: Ended, commit: str, verified: VerifyResult, exit_code: int | None
    ) -> None:
        super().__init__(ended.outcome, ended.message, exit_code=exit_code, verify=verified)
        self.commit = commit
        self.verified = verified

    def as_(self, ended: Ended) -> "NotPushed":
        """Return the same with another class and message."""
        return NotPushed(ended, self.commit, self.verified, self.exit_code)


def conclude(work: Workplace, desk: Desk, start: Start, task: Task, end: AgentEnd) -> Result:
    """Judge, verify and push what the agent has left. Raises Ended if it is not done.

    If somebody else's push came first, the changes are verified and pushed anew on top of that.
    """
    shot = desk.shot = judge(work, task, desk, start, end)
    plan = planned(work.order, task, Marker.DONE)
    candidate = Candidate(shot=shot, start=start, plan=plan, exit_code=end.exit_code)
    return put_on_branch(work, desk, task, candidate)


def put_on_branch(work: Workplace, desk: Desk, task: Task, candidate: Candidate) -> Result:
    """Verify and push the candidate. Raises Ended if it is not on the branch afterwards.

    Verified work that cannot be pushed is kept: no agent has to do it again.
    """
    spent = 0.0
    while True:
        try:
            result = _verify_and_push(work, task, candidate)
            desk.pushed = result.commit
            desk.plan = standing_in(candidate.plan, work.order)
            return result
        except NotPushed as failed:
            lasted = failed.verified.duration_seconds
            spent += lasted
            if failed.outcome is not Outcome.CONFLICT or spent + lasted > SPARE_SECONDS:
                raise kept_of(work, task, failed) from failed.__cause__
            refused = failed
        work.log.say("the branch has moved; verifying the changes on top of it")
        start = _moved_start(work, candidate)
        if start is None:  # whatever the server says of it, nobody else has pushed
            declined = refusals.declined(work.order)
            raise kept_of(work, task, refused.as_(declined)) from refused.__cause__
        desk.start = start
        desk.pushed, desk.plan = None, caught_up(work.order, start.commits)
        done = find_done(start.commits, work.order, task)
        if done:
            return found_done(work, desk, start, task, done)
        shot = desk.shot = rebase.rebase(work.git, work.order, candidate.shot, start)
        candidate = Candidate(
            shot=shot,
            start=start,
            exit_code=candidate.exit_code,
            plan=rebase.plan_at(work.git, desk.on_plan(work).order, task, start.head),
        )


def _moved_start(work: Workplace, candidate: Candidate) -> Start | None:
    """Return where the branch is now; None: where it was."""
    before = candidate.start.expected
    try:
        start = prepare.fetch_moved(work.git, work.order)
    except Ended as ended:
        if ended.outcome is Outcome.CONFLICT and not before:
            return None
        raise
    return None if start.expected == before else start


def kept_of(work: Workplace, task: Task, failed: NotPushed) -> Ended:
    """Keep the verified commit on the side ref; return how the episode ends, which says so."""
    if failed.outcome is Outcome.AGENT_ERROR:  # it is itself what the server does not take
        return failed
    work.reporter.stage("aside")
    problem = aside.keep_commit(work, task, failed.commit)
    return told_of_kept(work.order, task, failed, problem)


def told_of_kept(order: Order, task: Task, failed: NotPushed, problem: str | None) -> Ended:
    """Return how the episode ends whose work is kept, or lost if there is a `problem`."""
    told = f"The verified work of {task.id} is kept on {aside.side_ref(order, task.id)}."
    if problem:
        told = f"The verified work of {task.id} could not be kept either and is lost: {problem}"
    refusal = PushRefusal.LOST if problem else PushRefusal.KEPT
    return Ended(
        failed.outcome,
        with_details(failed.message, told),
        exit_code=failed.exit_code,
        verify=failed.verified,
        unpushed=Unpushed(
            refusal=refusal if persist.is_refusal(failed) else None,
            kept=None if problem else failed.commit,
        ),
    )


def _verify_and_push(work: Workplace, task: Task, candidate: Candidate) -> Result:
    shot, redact = candidate.shot, work.log.redact
    made = snapshot.commit(work.git, work.order, task, shot, candidate.plan, redact)
    work.reporter.reached("committed")
    work.reporter.stage("verify")
    verdict = verify(work, task, made)
    work.reporter.reached("verified")
    if verdict.problem:
        raise Ended(
            Outcome.VERIFY_FAILED,
            redact(verdict.problem),
            exit_code=candidate.exit_code,
            verify=verdict.result,
        )
    work.reporter.stage("persist")
    try:
        publish(work.git, work.order)
        persist.push(work.git, work.order, candidate.start, made)
    except Ended as ended:
        raise NotPushed(ended, made, verdict.result, candidate.exit_code) from ended.__cause__
    work.reporter.reached("pushed")
    work.reporter.update(head=made, plan_digest=plan_file.digest(candidate.plan), push_passed=True)
    return Result(
        id=task.id,
        outcome=Outcome.SUCCESS if shot.changes else Outcome.NO_CHANGES,
        revision=task.revision,
        commit=made,
        summary=redact(shot.outbox.summary or shot.outbox.unchanged or "")[:SUMMARY_LENGTH],
        exit_code=candidate.exit_code,
        verify=verdict.result,
        warnings=tuple(map(redact, red_flags.look_at(work.git, shot))),
    )

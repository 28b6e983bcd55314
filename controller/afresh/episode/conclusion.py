"""From the end of the agent to a pushed commit: snapshot, verify, persist.

Owns the order of these stages. Success is said only of a commit that is on the branch. It is
imported while the agent works.
"""

from dataclasses import dataclass

from afresh.contract.order import Task
from afresh.contract.report import Result
from afresh.contract.words import Marker, Outcome
from afresh.core import plan_file
from afresh.episode.agent import AgentEnd
from afresh.episode.briefing import planned, standing_in
from afresh.episode.desk import Desk
from afresh.episode.ending import Ended
from afresh.episode.found import found_done
from afresh.episode.judgement import judge
from afresh.episode.repository import persist, prepare, rebase, red_flags, snapshot
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


def conclude(work: Workplace, desk: Desk, start: Start, task: Task, end: AgentEnd) -> Result:
    """Judge, verify and push what the agent has left. Raises Ended if it is not done.

    If somebody else's push came first, the changes are verified and pushed anew on top of that.
    """
    shot = desk.shot = judge(work, task, desk, start, end)
    plan = planned(work.order, task, Marker.DONE)
    candidate = Candidate(shot=shot, start=start, plan=plan)
    spent = 0.0
    while True:
        try:
            result = _verify_and_push(work, task, candidate, end)
            desk.pushed = result.commit
            desk.plan = standing_in(candidate.plan, work.order)
            return result
        except Ended as ended:
            if ended.outcome is not Outcome.CONFLICT or ended.verify is None:
                raise
            spent += ended.verify.duration_seconds
            if spent + ended.verify.duration_seconds > SPARE_SECONDS:
                raise
        work.log.say("the branch has moved; verifying the changes on top of it")
        start = desk.start = prepare.fetch_moved(work.git, work.order)
        desk.pushed, desk.plan = None, caught_up(work.order, start.commits)
        done = find_done(start.commits, work.order, task)
        if done:
            return found_done(work, desk, start, task, done)
        shot = desk.shot = rebase.rebase(work.git, work.order, candidate.shot, start)
        candidate = Candidate(
            shot=shot,
            start=start,
            plan=rebase.plan_at(work.git, desk.on_plan(work).order, task, start.head),
        )


def _verify_and_push(work: Workplace, task: Task, candidate: Candidate, end: AgentEnd) -> Result:
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
            exit_code=end.exit_code,
            verify=verdict.result,
        )
    work.reporter.stage("persist")
    try:
        publish(work.git, work.order)
        persist.push(work.git, work.order, candidate.start, made)
    except Ended as ended:
        raise Ended(
            ended.outcome, ended.message, exit_code=end.exit_code, verify=verdict.result
        ) from ended.__cause__
    work.reporter.reached("pushed")
    work.reporter.update(head=made, plan_digest=plan_file.digest(candidate.plan))
    return Result(
        id=task.id,
        outcome=Outcome.SUCCESS if shot.changes else Outcome.NO_CHANGES,
        revision=task.revision,
        commit=made,
        summary=redact(shot.outbox.summary or shot.outbox.unchanged or "")[:SUMMARY_LENGTH],
        exit_code=end.exit_code,
        verify=verdict.result,
        warnings=tuple(map(redact, red_flags.look_at(work.git, shot))),
    )

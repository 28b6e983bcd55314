"""From the fetched commit to a pushed one: agent, snapshot, verify, persist.

Owns the order of these stages and which outcome holds when several fit. Success is said only of a
commit that is on the branch.
"""

from dataclasses import dataclass, replace

from afresh.adapters.adapter import Adapter, Context, Launch
from afresh.adapters.registry import find_adapter
from afresh.contract.order import Task
from afresh.contract.report import Result
from afresh.contract.words import Marker, Outcome
from afresh.core import plan_file
from afresh.core.outcome import PRECEDENCE
from afresh.core.text import one_line
from afresh.episode import agent, model_access, persist, prepare, rebase, snapshot, worktree
from afresh.episode.agent import AgentEnd
from afresh.episode.briefing import brief_for, plan_on_branch, standing_in
from afresh.episode.desk import Desk
from afresh.episode.ending import Ended
from afresh.episode.found import found_done
from afresh.episode.history import find_done
from afresh.episode.model_faults import BUDGET, model_verdicts, price_verdicts
from afresh.episode.outbox import collect
from afresh.episode.prepare import Start
from afresh.episode.snapshot import Snapshot
from afresh.episode.usage_hints import telling_usage
from afresh.episode.verify import verify
from afresh.episode.workplace import Workplace

# The pod's deadline leaves two minutes beyond the limits of one run of each command.
SPARE_SECONDS = 60.0
NO_PROCESS = (
    "The agent could start no more processes; raise spec.pidsLimit or make the subtask smaller."
)
SILENT = "The agent changed nothing and left no unchanged.md that says why."
BLOCKED = "The agent says that it cannot go on, and not why."


def deliver(work: Workplace, desk: Desk, start: Start, task: Task) -> Result:
    """Have the agent do `task`, and put it on the branch. Raises Ended if it is not done."""
    adapter = find_adapter(work.order.agent.adapter)
    if adapter is None:
        raise Ended(
            Outcome.CONFIG,
            f"This version has no adapter {work.order.agent.adapter}; "
            "correct spec.adapter of the AgentClass.",
        )
    if work.meter.is_used_up:
        raise Ended(Outcome.BUDGET_EXCEEDED, BUDGET)
    work.git.exclude(adapter.droppings)
    end = _run(work, adapter, desk, start, task)
    desk.session = end.session
    shot = desk.shot = _judge(work, task, desk, start, end)
    plan = snapshot.planned(work.order, task, Marker.DONE)
    return _conclude(work, desk, task, Candidate(shot=shot, start=start, plan=plan), end)


def _run(work: Workplace, adapter: Adapter, desk: Desk, start: Start, task: Task) -> AgentEnd:
    with model_access.open_access(work, adapter) as access:
        launch = _lay_out(work, adapter, desk, start, task, access.base_url)
        agent.get_ready(work)
        work.reporter.stage("agent")
        access.open()
        with telling_usage(work):
            end = agent.run_agent(
                work, launch, adapter.reader(behind_gateway=bool(access.base_url))
            )
    work.reporter.update(
        stage="snapshot",
        usage=work.meter.usage(),
        not_before=work.meter.not_before,
        log_tail=work.log.tail,
    )
    return end


def _lay_out(
    work: Workplace, adapter: Adapter, desk: Desk, start: Start, task: Task, base_url: str | None
) -> Launch:
    order, paths = work.order, work.paths
    plan = plan_on_branch(order, start, worktree.plan_text(work.git, start.head))
    layout = worktree.Layout(
        head=start.head,
        date=start.date,
        branch=order.repository.branch,
        plan=snapshot.planned(replace(order, plan=plan), task, Marker.RUNNING),
    )
    kept = worktree.clear(work.git, paths.worktree) if desk.is_laid_out else worktree.NOTHING
    worktree.lay_out(work.git, layout, paths.worktree, kept)
    desk.is_laid_out = True
    brief = brief_for(order, task, start, plan, paths.worktree)
    context = Context(is_kept=len(order.tasks) > 1, session=desk.session)
    launch = adapter.launch(order.agent, brief, base_url, context)
    worktree.write_home(paths.home, launch.home_files)
    work.reporter.reached("prepared")
    return launch


def _judge(work: Workplace, task: Task, desk: Desk, start: Start, end: AgentEnd) -> Snapshot:
    """Return what is to be committed, or raise Ended with the outcome that comes first."""
    verdicts = [*price_verdicts(work.meter)]
    if end.verdict.outcome:
        verdicts += [end.verdict, *model_verdicts(work.order, work.meter)]
    problems = [Ended(item.outcome, item.message) for item in verdicts if item.outcome]
    outbox = desk.outbox = collect(work.paths.worktree)
    if outbox.blocked is not None:
        problems.append(Ended(Outcome.BLOCKED, one_line(outbox.blocked) or BLOCKED))
    try:
        shot = desk.shot = snapshot.take(work.git, start.head, work.paths.worktree, outbox)
        snapshot.check_scope(task, shot)
    except Ended as problem:
        problems.append(problem)
    if not problems and not shot.changes and not outbox.unchanged:
        problems.append(Ended(Outcome.NO_CHANGES, SILENT))
    if problems and end.met_process_limit:
        problems.append(Ended(Outcome.PROCESS_LIMIT, NO_PROCESS))
    if problems:
        first = min(problems, key=lambda problem: PRECEDENCE.index(problem.outcome))
        raise Ended(first.outcome, work.log.redact(first.message), exit_code=end.exit_code)
    return shot


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What would be on the branch: these changes on the head of this start, with this plan."""

    shot: Snapshot
    start: Start
    plan: str


def _conclude(
    work: Workplace, desk: Desk, task: Task, candidate: Candidate, end: AgentEnd
) -> Result:
    """Verify and push; if somebody else's push came first, do both anew on top of that."""
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
        done = find_done(start.commits, work.order, task)
        if done:
            return found_done(work, desk, start, task, done)
        shot = desk.shot = rebase.rebase(work.git, work.order, candidate.shot, start)
        candidate = Candidate(
            shot=shot,
            start=start,
            plan=rebase.plan_at(work.git, work.order, task, start.head),
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
        exit_code=end.exit_code,
        verify=verdict.result,
    )

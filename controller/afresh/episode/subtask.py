"""One subtask: prepare, agent, snapshot, verify, persist.

Owns the order of the stages and which outcome holds when several fit. A result with a commit is
made in two places only: where the commit is found on the branch, and after it has been pushed.
"""

from afresh.adapters.adapter import Adapter, Launch
from afresh.adapters.registry import find_adapter
from afresh.contract.order import Task
from afresh.contract.report import Result
from afresh.contract.words import Marker, Outcome
from afresh.core import plan_file
from afresh.core.outcome import PRECEDENCE
from afresh.core.plan_file import one_line
from afresh.episode import agent, credentials, model_access, persist, prepare, snapshot, worktree
from afresh.episode.agent import AgentEnd
from afresh.episode.briefing import brief_for
from afresh.episode.ending import Ended
from afresh.episode.history import find_done
from afresh.episode.model_faults import model_verdict
from afresh.episode.outbox import collect
from afresh.episode.prepare import Start
from afresh.episode.snapshot import Snapshot
from afresh.episode.verify import verify
from afresh.episode.workplace import Workplace

SILENT = "The agent changed nothing and left no unchanged.md that says why."
BLOCKED = "The agent says that it cannot go on, and not why."


def do_subtask(work: Workplace, task: Task) -> Result:
    """Do `task`, or find it done. Raises Ended if it is not done afterwards."""
    work.reporter.stage("prepare")
    adapter = find_adapter(work.order.agent.adapter)
    if adapter is None:
        raise Ended(
            Outcome.CONFIG,
            f"This version has no adapter {work.order.agent.adapter}; "
            "correct spec.adapter of the AgentClass.",
        )
    model_access.warm_up(work.order, adapter)
    start = _fetch(work, adapter)
    done = find_done(start.commits, work.order, task)
    if done:
        work.log.say(f"{task.id} is done in {done.id}")
        return Result(id=task.id, outcome=Outcome.SUCCESS, revision=task.revision, commit=done.id)
    end = _run(work, adapter, start, task)
    shot = _judge(work, task, start, end)
    return _conclude(work, task, shot, end, start)


def _fetch(work: Workplace, adapter: Adapter) -> Start:
    credentials.write_git_credentials(work.order, work.paths)
    work.git.create(adapter.droppings)
    start = prepare.fetch_start(work.git, work.order)
    work.reporter.update(head=start.head)
    return start


def _run(work: Workplace, adapter: Adapter, start: Start, task: Task) -> AgentEnd:
    with model_access.open_access(work, adapter) as access:
        launch = _lay_out(work, adapter, start, task, access.base_url)
        agent.get_ready(work)
        work.reporter.stage("agent")
        access.admit()
        end = agent.run_agent(work, launch, adapter.reader(behind_gateway=bool(access.base_url)))
    work.reporter.update(
        stage="snapshot",
        usage=work.meter.usage(),
        not_before=work.meter.not_before,
        log_tail=work.log.tail,
    )
    return end


def _lay_out(
    work: Workplace, adapter: Adapter, start: Start, task: Task, base_url: str | None
) -> Launch:
    order, paths = work.order, work.paths
    layout = worktree.Layout(
        head=start.head,
        date=start.date,
        branch=order.repository.branch,
        plan=snapshot.planned(order, task, Marker.RUNNING),
    )
    worktree.lay_out(work.git, layout, paths.worktree)
    launch = adapter.launch(order.agent, brief_for(order, task, start, paths.worktree), base_url)
    worktree.write_home(paths.home, launch.home_files)
    work.reporter.reached("prepared")
    return launch


def _judge(work: Workplace, task: Task, start: Start, end: AgentEnd) -> Snapshot:
    """Return what is to be committed, or raise Ended with the outcome that comes first."""
    problems = []
    if end.verdict.outcome:
        verdicts = (end.verdict, model_verdict(work.order, work.meter))
        problems += [
            Ended(item.outcome, item.message) for item in verdicts if item and item.outcome
        ]
    outbox = collect(work.paths.worktree)
    if outbox.blocked is not None:
        problems.append(Ended(Outcome.BLOCKED, one_line(outbox.blocked) or BLOCKED))
    try:
        shot = snapshot.take(work.git, start.head, work.paths.worktree, outbox)
        snapshot.check_scope(task, shot)
    except Ended as problem:
        problems.append(problem)
    if not problems and not shot.changes and outbox.unchanged is None:
        problems.append(Ended(Outcome.NO_CHANGES, SILENT))
    if problems:
        first = min(problems, key=lambda problem: PRECEDENCE.index(problem.outcome))
        raise Ended(first.outcome, work.log.redact(first.message), exit_code=end.exit_code)
    return shot


def _conclude(work: Workplace, task: Task, shot: Snapshot, end: AgentEnd, start: Start) -> Result:
    """Commit, verify and push."""
    made = snapshot.commit(work.git, work.order, task, shot, work.log.redact)
    work.reporter.reached("committed")
    work.reporter.stage("verify")
    verdict = verify(work, task, made.id)
    work.reporter.reached("verified")
    if verdict.problem:
        raise Ended(
            Outcome.VERIFY_FAILED,
            work.log.redact(verdict.problem),
            exit_code=end.exit_code,
            verify=verdict.result,
        )
    work.reporter.stage("persist")
    persist.push(work.git, work.order, start, made.id)
    work.reporter.reached("pushed")
    work.reporter.update(head=made.id, plan_digest=plan_file.digest(made.plan))
    return Result(
        id=task.id,
        outcome=Outcome.SUCCESS if shot.changes else Outcome.NO_CHANGES,
        revision=task.revision,
        commit=made.id,
        exit_code=end.exit_code,
        verify=verdict.result,
    )

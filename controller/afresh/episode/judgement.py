"""From what the agent has left and said to a snapshot worth verifying, or an outcome.

Owns which outcome holds when several fit.
"""

from afresh.contract.order import Task
from afresh.contract.sentences import with_details
from afresh.contract.words import Outcome
from afresh.core.outcome import PRECEDENCE
from afresh.core.text import one_line
from afresh.episode.agent import AgentEnd
from afresh.episode.desk import Desk
from afresh.episode.ending import Ended
from afresh.episode.gateway.model_faults import model_verdicts, price_verdicts
from afresh.episode.outbox import collect
from afresh.episode.repository import snapshot
from afresh.episode.repository.prepare import Start
from afresh.episode.repository.snapshot import Snapshot
from afresh.episode.workplace import Workplace

NO_PROCESS = (
    "The agent could start no more processes; raise spec.pidsLimit or make the subtask smaller."
)
SILENT = (
    "The agent changed nothing and does not say why; say in the prompt or by guidance what is to "
    "change."
)
BLOCKED = "The agent asks a person to decide; answer with afresh guide, or skip the subtask."
NOT_WHY = "it does not say what"


def judge(work: Workplace, task: Task, desk: Desk, start: Start, end: AgentEnd) -> Snapshot:
    """Return what is to be committed, or raise Ended with the outcome that comes first."""
    verdicts = [*price_verdicts(work.meter)]
    if end.verdict.outcome:
        verdicts += [end.verdict, *model_verdicts(work.order, work.meter)]
    problems = [Ended(item.outcome, item.message) for item in verdicts if item.outcome]
    outbox = desk.outbox = collect(work.paths.worktree)
    if outbox.blocked is not None:
        asked = one_line(outbox.blocked) or NOT_WHY
        problems.append(Ended(Outcome.BLOCKED, with_details(BLOCKED, asked)))
    try:
        shot = desk.shot = snapshot.take(
            work.git, work.order, start.head, work.paths.worktree, outbox
        )
        desk.warnings += shot.warnings
        snapshot.check_scope(work.git, task, shot)
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

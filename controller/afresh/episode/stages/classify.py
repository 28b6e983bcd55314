"""From what the agent has left and said to a snapshot worth verifying, or an outcome.

Owns which outcome holds when several fit.
"""

from afresh.contract.order import Task
from afresh.contract.outcomes import PRECEDENCE
from afresh.contract.sentences import with_details
from afresh.contract.text import one_line
from afresh.contract.words import Outcome
from afresh.episode.context import EpisodeContext
from afresh.episode.gateway.model_faults import model_verdicts, price_verdicts
from afresh.episode.git import snapshot
from afresh.episode.git.fetching import Start
from afresh.episode.git.snapshot import Snapshot
from afresh.episode.stages.outbox import collect
from afresh.episode.stages.run_agent import AgentEnd
from afresh.episode.state import EpisodeState
from afresh.episode.stopped import SubtaskStopped

NO_PROCESS = (
    "The agent could start no more processes; raise spec.pidsLimit or make the subtask smaller."
)
SILENT = (
    "The agent changed nothing and does not say why; say in the prompt or by guidance what is to "
    "change."
)
BLOCKED = "The agent asks a person to decide; answer with afresh guide, or skip the subtask."
NOT_WHY = "it does not say what"


def classify(
    context: EpisodeContext, task: Task, state: EpisodeState, start: Start, end: AgentEnd
) -> Snapshot:
    """Return what is to be committed, or raise Ended with the outcome that comes first."""
    verdicts = [*price_verdicts(context.meter)]
    if end.verdict.outcome:
        verdicts += [end.verdict, *model_verdicts(context.order, context.meter)]
    problems = [SubtaskStopped(item.outcome, item.message) for item in verdicts if item.outcome]
    outbox = state.outbox = collect(context.paths.worktree)
    if outbox.blocked is not None:
        asked = one_line(outbox.blocked) or NOT_WHY
        problems.append(SubtaskStopped(Outcome.BLOCKED, with_details(BLOCKED, asked)))
    try:
        shot = state.shot = snapshot.take(
            context.git, context.order, start.head, context.paths.worktree, outbox
        )
        state.warnings += shot.warnings
        snapshot.check_scope(context.git, task, shot)
    except SubtaskStopped as problem:
        problems.append(problem)
    if not problems and not shot.changes and not outbox.unchanged:
        problems.append(SubtaskStopped(Outcome.NO_CHANGES, SILENT))
    if problems and end.met_process_limit:
        problems.append(SubtaskStopped(Outcome.PROCESS_LIMIT, NO_PROCESS))
    if problems:
        first = min(problems, key=lambda problem: PRECEDENCE.index(problem.outcome))
        raise SubtaskStopped(
            first.outcome, context.log.redact(first.message), exit_code=end.exit_code
        )
    return shot

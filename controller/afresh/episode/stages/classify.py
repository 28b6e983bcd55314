"""Classifies how the agent ended: with a candidate to verify, or with an outcome.

Owns the choice between several outcomes that apply.
"""

from collections.abc import Iterator

from afresh.adapters.adapter import Verdict
from afresh.contract.outcomes import PRECEDENCE
from afresh.contract.sentences import with_details
from afresh.contract.text import one_line
from afresh.contract.words import Marker, Outcome
from afresh.episode.briefing import planned
from afresh.episode.context import EpisodeContext
from afresh.episode.gateway.model_faults import model_verdicts, price_verdicts
from afresh.episode.git import snapshot
from afresh.episode.outbox import collect
from afresh.episode.state import Candidate, SubtaskState, given
from afresh.episode.stopped import SubtaskStopped

NO_PROCESS = (
    "The agent could not start more processes; raise spec.pidsLimit or make the subtask smaller."
)
SILENT = (
    "The agent changed nothing and did not say why; state in the prompt or in guidance what to "
    "change."
)
BLOCKED = "The agent asks a person to decide; answer with afresh guide, or skip the subtask."
NOT_WHY = "it does not say what to decide"


def run(context: EpisodeContext, state: SubtaskState) -> None:
    """Turn the agent's changes into a candidate.

    Raises SubtaskStopped with the outcome that comes first in PRECEDENCE, if any applies.
    """
    end = given(state.agent_end)
    problems = list(_from_verdicts(context, end.verdict))
    outbox = state.outbox = collect(context.paths.worktree)
    if outbox.blocked is not None:
        asked = one_line(outbox.blocked) or NOT_WHY
        problems.append(SubtaskStopped(Outcome.BLOCKED, with_details(BLOCKED, asked)))
    try:
        taken = snapshot.take(
            context.git, context.order, given(state.start).head, context.paths.worktree, outbox
        )
        state.snapshot = taken
        state.warnings += taken.warnings
        snapshot.check_scope(context.git, state.task, taken)
    except SubtaskStopped as problem:
        problems.append(problem)
    if not problems and not taken.changes and not outbox.unchanged:
        problems.append(SubtaskStopped(Outcome.NO_CHANGES, SILENT))
    if problems and end.met_process_limit:
        problems.append(SubtaskStopped(Outcome.PROCESS_LIMIT, NO_PROCESS))
    if problems:
        first = min(problems, key=lambda problem: PRECEDENCE.index(problem.outcome))
        raise SubtaskStopped(
            first.outcome, context.log.redact(first.message), exit_code=end.exit_code
        )
    plan = planned(state.episode.order, state.task, Marker.DONE)
    state.candidate = Candidate(snapshot=taken, plan=plan)


def _from_verdicts(context: EpisodeContext, own: Verdict) -> Iterator[SubtaskStopped]:
    """Yield what the agent program, the runner's watch or the gateway report as a failure."""
    verdicts = [*price_verdicts(context.meter)]
    if own.outcome:
        verdicts += [own, *model_verdicts(context.order, context.meter)]
    for verdict in verdicts:
        if verdict.outcome:
            yield SubtaskStopped(verdict.outcome, verdict.message)

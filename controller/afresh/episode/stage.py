"""What a stage of the pipeline is, and how stages are run one after another.

Owns when a stage's module is imported, and logs an outcome that the stage's row does not declare.
"""

import importlib
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Any

from afresh.contract.report import Result
from afresh.contract.words import Outcome
from afresh.episode.context import EpisodeContext
from afresh.episode.stopped import SubtaskStopped

STAGES = "afresh.episode.stages"
UNDECLARED = "does not declare the outcome"

Run = Callable[[EpisodeContext, Any], Result | None]


class Loading(Enum):
    """When the module of a stage is imported."""

    AT_START = "while git fetches"
    WHILE_AGENT_WORKS = "while the agent works"
    WHEN_NEEDED = "when the stage is run"


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineStage:
    """One row of the pipeline. `name` is also that of the module in `stages`, whose `run` it is.

    `told` is what the Report's `stage` says from here on, `tells` what the stage itself may have it
    say; `phases` are those of the Report's that may be reached here. `needs` and `gives` are fields
    of the state. With one of the `outcomes` the subtask may end here. Where `applies` says no, the
    stage is left out.
    """

    name: str
    told: str | None = None
    tells: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    outcomes: frozenset[Outcome] = frozenset()
    applies: Callable[[EpisodeContext, Any], bool] = lambda _context, _state: True
    loading: Loading = Loading.WHEN_NEEDED

    def load(self) -> Run:
        """Import the stage and return what runs it."""
        run: Run = importlib.import_module(f"{STAGES}.{self.name}").run
        return run


def run_stages(context: EpisodeContext, state: object, *stages: PipelineStage) -> Result | None:
    """Run the stages in order until one has a Result. Raises SubtaskStopped, as a stage does."""
    for stage in stages:
        if stage.applies(context, state):
            result = _run_stage(context, state, stage)
            if result:
                return result
    return None


def _run_stage(context: EpisodeContext, state: object, stage: PipelineStage) -> Result | None:
    run = stage.load()
    if stage.told:
        context.reporter.stage(stage.told)
    try:
        result = run(context, state)
    except SubtaskStopped as stopped:
        _check_outcome(context, stage, stopped.outcome)
        raise
    if result:
        _check_outcome(context, stage, result.outcome)
    return result


def _check_outcome(context: EpisodeContext, stage: PipelineStage, outcome: Outcome) -> None:
    """Tell of a fault in the table, which must not change how an episode ends."""
    if outcome not in stage.outcomes:
        context.log.say(f"the stage {stage.name} {UNDECLARED} {outcome}")


def load_stages(stages: Iterable[PipelineStage], loading: Loading) -> None:
    """Import the stages of that kind."""
    for stage in stages:
        if stage.loading is loading:
            stage.load()


def begin_to_load(stages: Iterable[PipelineStage], loading: Loading) -> None:
    """Import the stages of that kind in a thread."""
    threading.Thread(target=load_stages, args=(stages, loading), name="import", daemon=True).start()

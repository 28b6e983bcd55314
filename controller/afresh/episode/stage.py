"""Defines a stage of the pipeline, and runs stages one after another.

Owns when the module of a stage is imported. Logs an outcome that the stage's row does not declare.
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
    """One row of the pipeline. The module `name` in `stages` has the function `run` of the stage.

    `reported_as` is the value that the Report's `stage` gets when this stage starts; `may_report`
    are values that the stage itself may set. `phases` are the phases of the Report that may be
    reached here. `needs` and `gives` are fields of the state that it reads and sets. The subtask
    may end here with one of the `outcomes`. If `applies` returns False, the stage is skipped.
    """

    name: str
    reported_as: str | None = None
    may_report: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    gives: tuple[str, ...] = ()
    outcomes: frozenset[Outcome] = frozenset()
    applies: Callable[[EpisodeContext, Any], bool] = lambda _context, _state: True
    loading: Loading = Loading.WHEN_NEEDED

    def load(self) -> Run:
        """Import the module of the stage and return its `run`."""
        run: Run = importlib.import_module(f"{STAGES}.{self.name}").run
        return run


def run_stages(context: EpisodeContext, state: object, *stages: PipelineStage) -> Result | None:
    """Run the stages in order until one returns a Result, and return that; None if none does.

    Raises SubtaskStopped when a stage does.
    """
    for stage in stages:
        if stage.applies(context, state):
            result = _run_stage(context, state, stage)
            if result:
                return result
    return None


def _run_stage(context: EpisodeContext, state: object, stage: PipelineStage) -> Result | None:
    run = stage.load()
    if stage.reported_as:
        context.reporter.stage(stage.reported_as)
    try:
        result = run(context, state)
    except SubtaskStopped as stopped:
        _check_outcome(context, stage, stopped.outcome)
        raise
    if result:
        _check_outcome(context, stage, result.outcome)
    return result


def _check_outcome(context: EpisodeContext, stage: PipelineStage, outcome: Outcome) -> None:
    """Log an outcome that the table lacks: such a fault must not change how an episode ends."""
    if outcome not in stage.outcomes:
        context.log.say(f"the stage {stage.name} {UNDECLARED} {outcome}")


def load_stages(stages: Iterable[PipelineStage], loading: Loading) -> None:
    """Import the modules of the stages that have this `loading`."""
    for stage in stages:
        if stage.loading is loading:
            stage.load()


def begin_to_load(stages: Iterable[PipelineStage], loading: Loading) -> None:
    """Start a thread that imports the modules of the stages that have this `loading`."""
    threading.Thread(target=load_stages, args=(stages, loading), name="import", daemon=True).start()

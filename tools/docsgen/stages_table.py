"""The table of docs/reference/contract.md: the stages of a subtask and of a sync, in order."""

from collections.abc import Iterable

from afresh.contract.words import Outcome
from afresh.episode.pipeline import SUBTASK, SYNC
from afresh.episode.stage import PipelineStage


def render() -> str:
    """Return a row for each stage, in the order in which they are run."""
    only_sync = [stage for stage in SYNC if stage not in SUBTASK]
    rows = [
        f"| {stage.name.replace('_', ' ')} | {_code(_reported(stage))} | {_code(stage.phases)} "
        f"| {', '.join(item for item in Outcome if item in stage.outcomes) or '-'} |"
        for stage in (*SUBTASK, *only_sync)
    ]
    head = ["| step | `stage` | `phases` | outcomes |", "|---|---|---|---|"]
    return "\n".join([*head, *rows])


def _reported(stage: PipelineStage) -> Iterable[str]:
    return (*((stage.reported_as,) if stage.reported_as else ()), *stage.may_report)


def _code(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)

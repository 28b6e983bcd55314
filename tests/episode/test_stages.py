"""The table of the pipeline is true: each stage reads, writes, tells and ends as its row says."""

import ast
import inspect
import re
from pathlib import Path

import pytest

import afresh
from afresh.contract.report import PHASES
from afresh.contract.words import Outcome
from afresh.episode.pipeline import SUBTASK, SYNC
from afresh.episode.stage import PipelineStage

PRODUCT = Path(afresh.__path__[0])
STAGES = PRODUCT / "episode/stages"
# Every state has these from the beginning, or makes them of others.
ALWAYS = {"episode", "task", "agent_scope", "exit_code"}
# The runner tells these outside of any stage; the gateway notes when the model was asked first.
OF_THE_RUNNER = {"runnerStarted", "reported"}
# What only the operator can see: it has the container's own end.
OF_THE_OPERATOR = {Outcome.OUT_OF_MEMORY}
EVERY = tuple({stage.name: stage for stage in (*SUBTASK, *SYNC)}.values())
each_stage = pytest.mark.parametrize("stage", EVERY, ids=lambda stage: stage.name)


def tree_of(stage: PipelineStage) -> ast.Module:
    return ast.parse((STAGES / f"{stage.name}.py").read_text())


def fields(stage: PipelineStage, context: type[ast.expr_context]) -> set[str]:
    return {
        node.attr
        for node in ast.walk(tree_of(stage))
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "state"
        and isinstance(node.ctx, context)
    }


def reported_as(stage: PipelineStage, method: str) -> set[str]:
    """What the stage's file hands to this method of the reporter."""
    return {
        str(node.args[0].value)
        for node in ast.walk(tree_of(stage))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == f"context.reporter.{method}"
        and isinstance(node.args[0], ast.Constant)
    }


def test_every_file_of_stages_is_in_the_pipeline_and_no_other() -> None:
    files = {path.stem for path in STAGES.glob("*.py")} - {"__init__"}

    assert files == {stage.name for stage in EVERY}


@each_stage
def test_a_stage_takes_the_context_and_the_state(stage: PipelineStage) -> None:
    assert [*inspect.signature(stage.load()).parameters] == ["context", "state"]


@each_stage
def test_a_stage_reads_and_writes_the_fields_of_its_row_and_no_others(stage: PipelineStage) -> None:
    assert fields(stage, ast.Load) <= {*stage.needs, *stage.gives, *ALWAYS}
    assert fields(stage, ast.Store) == set(stage.gives)


@pytest.mark.parametrize("pipeline", [SUBTASK, SYNC], ids=["subtask", "sync"])
def test_what_a_stage_needs_is_given_by_an_earlier_one(pipeline: tuple[PipelineStage, ...]) -> None:
    known = {"result"}
    for stage in pipeline:
        assert set(stage.needs) <= known, stage.name
        known |= set(stage.gives)


@each_stage
def test_a_stage_tells_the_names_and_the_phases_of_its_row_and_no_others(
    stage: PipelineStage,
) -> None:
    assert reported_as(stage, "stage") == set(stage.may_report)
    assert reported_as(stage, "reached") == set(stage.phases)


def test_every_phase_of_a_report_is_reached_in_a_stage_or_by_the_runner() -> None:
    assert {phase for stage in EVERY for phase in stage.phases} | OF_THE_RUNNER == set(PHASES)


def test_the_table_has_every_outcome_that_the_runner_can_produce_and_no_others() -> None:
    files = [*PRODUCT.glob("episode/**/*.py"), *PRODUCT.glob("adapters/**/*.py")]
    source = "".join(path.read_text() for path in files if path.name != "pipeline.py")
    produced = {Outcome[name] for name in re.findall(r"\bOutcome\.([A-Z_]+)\b", source)}
    declared = {outcome for stage in EVERY for outcome in stage.outcomes}

    assert declared == produced
    assert declared == set(Outcome) - OF_THE_OPERATOR

"""Where an episode's time went."""

from typing import Any

import pytest

from afresh.contract.pod_layout import RUNNER
from afresh.contract.report import Result
from afresh.contract.words import Outcome
from afresh.core.history.episode_times import hand_over_seconds, phase_seconds, work_and_overhead
from afresh.core.observed import ContainerFacts, ContainerState, Episode
from tests.make import NOW, make_episode, make_pod, make_report, seconds

START = NOW.timestamp()
WHOLE = {
    "runnerStarted": 5.5,
    "prepared": 6.5,
    "agentReady": 7.0,
    "agentStarted": 8.5,
    "modelAsked": 9.25,
    "agentEnded": 68.5,
    "committed": 69.0,
    "verified": 79.0,
    "pushed": 80.0,
    "reported": 80.25,
}


RUNNER_AT_FIVE = ContainerFacts(
    name=RUNNER, state=ContainerState.RUNNING, started=True, began=NOW + seconds(5)
)


def episode_with(
    offsets: dict[str, float], outcome: Outcome = Outcome.SUCCESS, **fields: Any
) -> Any:
    return make_report(outcome, phases={name: START + at for name, at in offsets.items()}, **fields)


def lived(offsets: dict[str, float], **fields: Any) -> Episode:
    own = {
        "created": NOW,
        "released": NOW + seconds(2),
        "pod": make_pod(
            scheduled=NOW + seconds(3),
            sandboxed=NOW + seconds(4),
            containers=(RUNNER_AT_FIVE,),
        ),
        "report": episode_with(offsets),
    }
    return make_episode(**{**own, **fields})


def test_a_whole_episode_has_every_part() -> None:
    assert phase_seconds(lived(WHOLE)) == {
        "queued": 2,
        "scheduled": 1,
        "runnerImage": 1,
        "started": 1.5,
        "prepared": 1,
        "agentImage": 0.5,
        "setup": 1.5,
        "firstRequest": 0.75,
        "agent": 59.25,
        "commit": 0.5,
        "verify": 10,
        "push": 1,
        "report": 0.25,
    }


@pytest.mark.parametrize(
    ("episode", "want"),
    [
        pytest.param(lived(WHOLE, report=None), {"queued", "scheduled"}, id="no Report came"),
        pytest.param(lived(WHOLE, pod=None, report=None), {"queued"}, id="there was no pod"),
        pytest.param(lived(WHOLE, uid="", report=None), set(), id="the Job was lost"),
        pytest.param(lived(WHOLE, released=None, report=None), set(), id="the Job never ran"),
        pytest.param(
            lived({"runnerStarted": 5, "reported": 6}),
            {"queued", "scheduled", "runnerImage", "started", "report"},
            id="it ended before it was prepared",
        ),
    ],
)
def test_an_episode_has_only_the_parts_that_it_reached(episode: Episode, want: set[str]) -> None:
    assert set(phase_seconds(episode)) == want


def test_a_clock_that_is_behind_makes_a_part_zero_and_never_less() -> None:
    episode = lived({**WHOLE, "runnerStarted": -40.0})

    assert phase_seconds(episode)["started"] == 0


def test_overhead_is_all_but_the_queue_and_setup_agent_and_verify() -> None:
    assert work_and_overhead(lived(WHOLE)) == (71.5, pytest.approx(6.75))


def test_a_batch_of_several_subtasks_has_no_overhead_figure() -> None:
    results = tuple(Result(id=name, outcome=Outcome.SUCCESS, commit="c") for name in ("A", "B"))
    batch = lived(WHOLE, report=episode_with(WHOLE, results=results))

    assert work_and_overhead(batch) is None
    assert "prepared" not in phase_seconds(batch)
    assert phase_seconds(batch)["agent"] == 59.25


def test_a_push_of_the_subtask_before_is_no_part_of_the_last_ones_end() -> None:
    failed = {name: at for name, at in WHOLE.items() if name not in ("committed", "verified")}
    parts = phase_seconds(lived({**failed, "pushed": 6.0, "reported": 68.75}))

    assert "push" not in parts
    assert (parts["agent"], parts["report"]) == (59.25, 0.25)


def test_a_push_before_a_last_subtask_that_came_to_nothing_is_not_as_long_as_the_batch() -> None:
    results = tuple(Result(id=name, outcome=Outcome.SUCCESS, commit="c") for name in ("A", "B"))
    phases = {"runnerStarted": 5.0, "pushed": 1200.0, "reported": 1201.0}
    parts = phase_seconds(lived(phases, report=episode_with(phases, results=results)))

    assert "push" not in parts
    assert parts["report"] == 1


def later(by: float, **fields: Any) -> Episode:
    own = {"created": NOW + seconds(by), "released": NOW + seconds(by)}
    moved = {name: at + by for name, at in WHOLE.items()}
    return lived(moved, **{"subtask": "T002", **own, **fields})


@pytest.mark.parametrize(
    ("episode", "others", "want"),
    [
        pytest.param(later(81), [lived(WHOLE)], 81 + 8.5 - 68.5, id="it starts at once"),
        pytest.param(later(200), [lived(WHOLE)], None, id="it starts when something has passed"),
        pytest.param(later(81), [], None, id="it is the first"),
        pytest.param(lived(WHOLE), [later(81)], None, id="the other comes after it"),
        pytest.param(later(81, report=None), [lived(WHOLE)], None, id="its agent never started"),
        pytest.param(
            later(81),
            [lived(WHOLE, report=episode_with(WHOLE, Outcome.VERIFY_FAILED))],
            None,
            id="the one before failed",
        ),
        pytest.param(
            later(162), [lived(WHOLE), later(81)], 81 + 8.5 - 68.5, id="the last before it counts"
        ),
    ],
)
def test_the_hand_over_is_from_the_agent_before_to_the_next(
    episode: Episode, others: list[Episode], want: float | None
) -> None:
    assert hand_over_seconds(episode, others) == want


def test_without_the_sandbox_condition_the_start_is_one_part() -> None:
    parts = phase_seconds(lived(WHOLE, pod=make_pod(scheduled=NOW + seconds(3))))

    assert "runnerImage" not in parts
    assert parts["started"] == 2.5


def test_an_agent_that_asks_no_model_has_one_part() -> None:
    silent = {name: at for name, at in WHOLE.items() if name != "modelAsked"}
    parts = phase_seconds(lived(silent))

    assert "firstRequest" not in parts
    assert parts["agent"] == 60

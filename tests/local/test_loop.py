"""What a package asks for beside its subtasks, without a cluster: side by side, modes, limits."""

import pytest

from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.local.session import Session
from tests.local.clones import git, needs_sandbox, subjects
from tests.local.worlds import LONGEST, Agents, World

pytestmark = [needs_sandbox, pytest.mark.slow]


def test_independent_subtasks_run_side_by_side_and_all_are_on_the_branch(
    world: World, agents: Agents
):
    world.apply("T1", "T2", "T3", parallelism=2)
    run = world.begin()

    first, second = agents.next(), agents.next()
    assert {first.subtask, second.subtask} == {"T1", "T2"}
    second.go_on()
    third = agents.next()
    third.go_on()
    first.go_on()

    assert run.wait(LONGEST) == 0
    assert world.package().status.phase is PackagePhase.SUCCEEDED
    assert sorted(subjects(world.clone)) == ["T1", "T2", "T3"]
    assert sorted(agents.started) == ["T1", "T2", "T3"]


def test_class_runs_no_more_episodes_than_it_may(world: World, agents: Agents):
    world.apply("T1", "T2", parallelism=2, of_class={"maxConcurrentEpisodes": 1})
    run = world.begin()

    first = agents.next()
    status = world.package().status
    assert (first.subtask, status.current) == ("T1", "T1")
    first.go_on()
    agents.next().go_on()

    assert run.wait(LONGEST) == 0
    assert agents.started == ["T1", "T2"]


@pytest.mark.parametrize("mode", ["Persistent", "FreshPerEpic"])
def test_context_mode_that_the_adapter_cannot_keep_is_told_and_no_agent_starts(
    mode: str, world: World, agents: Agents
):
    world.apply("T1", "T2", context={"mode": mode})

    assert world.finish() == 0

    status = world.package().status
    assert (status.phase, status.reason) == (PackagePhase.STALLED, "NotSupported")
    assert agents.started == []


def test_skip_after_the_end_is_written_into_the_plan_on_the_branch(world: World, agents: Agents):
    agents.are_free = True
    world.apply("T1")
    assert world.finish() == 0
    world.apply("T1", "T2")
    store = Session.around(world.clone).store("demo")
    store.patch([{"op": "add", "path": "/spec/subtasks/1/skip", "value": True}])

    assert world.finish() == 0

    assert world.package().status.phase is PackagePhase.SUCCEEDED
    plan = git(world.clone, "grep", "-h", "T2", "afresh/demo", "--", ".afresh")
    assert "[S]" in plan
    assert agents.started == ["T1"]


def test_limit_of_episodes_stops_the_package_until_it_is_raised(world: World, agents: Agents):
    agents.are_free = True
    world.apply("T1", maxEpisodes=1, verify={"command": ["false"]})

    assert world.finish() == 0

    status = world.package().status
    assert status.phase is PackagePhase.FAILED
    assert status.subtasks[0].phase is SubtaskPhase.PENDING
    world.apply("T1", maxEpisodes=2)
    assert world.finish() == 0
    assert world.package().status.phase is PackagePhase.SUCCEEDED
    assert agents.started == ["T1", "T1"]

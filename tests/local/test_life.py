"""The life of a run: interrupts, kills and reboots. The next run goes on, and nothing ran twice.

Each start of an agent is told to the test by a connection, which ends when the agent does.
"""

import contextlib
import json
import os
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from afresh.api.phases import PackagePhase, SubtaskPhase
from afresh.local.loop import INTERRUPTED
from afresh.local.processes import Identity
from tests.local.clones import make_clone, needs_sandbox, subjects
from tests.local.worlds import LONGEST, Agents, World, wait_for

pytestmark = [needs_sandbox, pytest.mark.slow]


@pytest.fixture(autouse=True)
def _two_subtasks(world: World) -> None:
    world.apply("T1", "T2")


def assert_done(world: World) -> None:
    package = world.package()
    assert package.status.phase is PackagePhase.SUCCEEDED, package.status
    assert subjects(world.clone) == ["T1", "T2"]
    assert all(record.consecutive_failures == 0 for record in package.status.subtasks)
    assert not list(world.episodes.glob("*/pod"))
    wait_for(lambda: not world.left())


def test_first_ctrl_c_of_a_terminal_lets_the_agent_end_and_starts_no_other(
    world: World, agents: Agents
):
    run = world.begin()
    agent = agents.next()

    os.killpg(run.pid, signal.SIGINT)  # a terminal tells the whole group
    agent.go_on()

    assert run.wait(LONGEST) == 130
    status = world.package().status
    phases = {record.id: record.phase for record in status.subtasks}
    assert phases == {"T1": SubtaskPhase.DONE, "T2": SubtaskPhase.PENDING}
    assert (status.phase, status.conditions[0].message) == (PackagePhase.SUSPENDED, INTERRUPTED)
    wait_for(lambda: not world.left())
    agents.are_free = True
    assert world.finish() == 0
    assert_done(world)
    assert agents.started == ["T1", "T2"]


def interrupt_again_and_again(run: "subprocess.Popen[bytes]") -> None:
    while run.poll() is None:
        os.killpg(run.pid, signal.SIGINT)
        with contextlib.suppress(subprocess.TimeoutExpired):
            run.wait(1)  # two signals at the same instant are one


def terminate(run: "subprocess.Popen[bytes]") -> None:
    os.killpg(run.pid, signal.SIGTERM)


def hang_up(run: "subprocess.Popen[bytes]") -> None:
    os.killpg(run.pid, signal.SIGHUP)


@pytest.mark.parametrize("end", [interrupt_again_and_again, terminate, hang_up])
def test_run_that_is_to_end_at_once_ends_its_agent_and_the_next_run_goes_on_at_once(
    end: Callable[["subprocess.Popen[bytes]"], None], world: World, agents: Agents
):
    run = world.begin()
    agent = agents.next()

    end(run)

    assert run.wait(LONGEST) == 130
    assert agent.ends()
    wait_for(lambda: not world.left())
    (record, _) = world.package().status.subtasks
    assert record.message.startswith("The run was stopped before the episode ended; ")
    assert record.consecutive_failures == 0
    agents.are_free = True
    assert world.finish() == 0
    assert_done(world)
    assert agents.started == ["T1", "T1", "T2"]


def kill_run(world: World, run: "subprocess.Popen[bytes]") -> None:
    run.kill()


def kill_tree(world: World, run: "subprocess.Popen[bytes]") -> None:
    for pid in (run.pid, *world.left()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def reboot(world: World, run: "subprocess.Popen[bytes]") -> None:
    """After a reboot, the number and the start of the runner can be those of another process."""
    kill_tree(world, run)
    run.wait(LONGEST)
    (known,) = (path for path in world.episodes.glob("*/runner.json") if _is_open(path.parent))
    other = Identity.of(os.getpid(), "another-boot")
    known.write_text(json.dumps(other.to_json()))


def _is_open(folder: Path) -> bool:
    return (folder / "episode.json").exists()


@pytest.mark.parametrize("end", [kill_run, kill_tree, reboot])
def test_run_that_was_killed_leaves_no_process_and_the_next_run_goes_on_at_once(
    end: Callable[[World, "subprocess.Popen[bytes]"], None], world: World, agents: Agents
):
    run = world.begin()
    agents.next().go_on()
    agent = agents.next()

    end(world, run)

    assert run.wait(LONGEST) == -signal.SIGKILL
    assert agent.ends()
    wait_for(lambda: not world.left())
    agents.are_free = True
    assert world.finish() == 0
    assert_done(world)
    assert agents.started == ["T1", "T2", "T2"]


def test_second_run_is_refused_in_a_sentence_and_the_first_goes_on(world: World, agents: Agents):
    run = world.begin()
    agent = agents.next()

    second = world.begin()
    _, said = second.communicate(timeout=LONGEST)

    assert second.returncode == 2
    assert said == b"Another afresh run works on demo; wait for it, or end it with Ctrl-C.\n"
    agents.are_free = True
    agent.go_on()
    assert run.wait(LONGEST) == 0
    assert_done(world)
    assert agents.started == ["T1", "T2"]


def killed_after(world: World, writes: int) -> bool:
    """Run until so many files are written; return whether the run ended by itself before."""
    done = set(subjects(world.clone)) if _has_branch(world.clone) else set()
    known = len(world.agents.started)
    code = world.begin(str(writes)).wait(LONGEST)
    wait_for(lambda: not world.left())
    assert done.isdisjoint(world.agents.started[known:])
    assert code in (0, -signal.SIGKILL)
    return code == 0


def test_runs_that_are_killed_again_and_again_come_to_the_end_and_repeat_no_finished_work(
    world: World, agents: Agents
):
    agents.are_free = True
    writes = 1
    while not killed_after(world, writes):
        writes += 1

    assert writes > 5
    assert_done(world)


@pytest.mark.parametrize("first", range(1, 7))
def test_run_that_is_killed_after_any_write_is_finished_by_the_next(
    first: int, tmp_path: Path, agents: Agents, world: World
):
    agents.are_free = True
    for writes in range(first, 100, 6):
        agents.started.clear()
        clone = make_clone(tmp_path / f"clone-{writes}")
        with World(clone, world.state, agents).closed() as other:
            other.apply("T1", "T2")
            is_done = killed_after(other, writes)

            assert other.finish() == 0

            assert_done(other)
        assert len(agents.started) <= 3
        if is_done:
            break
    else:
        pytest.fail("a run has written more than a hundred files")


def _has_branch(clone: Path) -> bool:
    return (clone / ".git/refs/heads/afresh/demo").exists()

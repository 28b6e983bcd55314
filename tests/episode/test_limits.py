"""What an agent meets that uses more than it may: the class that names the limit."""

import threading
from dataclasses import replace
from pathlib import Path

import pytest

from afresh.contract.words import Outcome
from afresh.episode.container.channel import Channel
from afresh.episode.container.questions import FULL, DiskQuestion, used_bytes
from afresh.episode.container.watch import AgentWatch
from afresh.episode.stages.run_agent import Signs
from tests.episode.lone_runner import LoneRunner
from tests.episode.pod import Pod, make_order, wait_until
from tests.episode.servers import Remote

MIB = 1 << 20
WORK = "echo hello > hello.txt"


@pytest.mark.parametrize("folder", ["$HOME", "."])
def test_an_agent_that_fills_the_disk_is_stopped_below_its_limit(
    pod: Pod, remote: Remote, folder: str
) -> None:
    fills = f"head -c {16 * MIB} /dev/urandom > {folder}/big; sleep 60"
    order = make_order(remote.url, fills)

    pod.run(replace(order, agent=replace(order.agent, disk_bytes=8 * MIB)))

    assert pod.result.outcome is Outcome.DISK_FULL, pod.log
    assert "ephemeral-storage" in pod.result.message


def test_an_agent_below_its_limit_is_left_alone(pod: Pod, remote: Remote) -> None:
    order = make_order(remote.url, f"{WORK}; sleep 1.5")

    pod.run(replace(order, agent=replace(order.agent, disk_bytes=64 * MIB)))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log


def test_an_agent_that_fails_for_want_of_processes_has_met_its_process_limit(
    pod: Pod, remote: Remote
) -> None:
    pod.run(make_order(remote.url, "echo 'sh: 0: Cannot fork' >&2; exit 2"))

    assert pod.result.outcome is Outcome.PROCESS_LIMIT
    assert "spec.pidsLimit" in pod.result.message


def test_an_agent_that_gets_over_its_process_limit_succeeds(pod: Pod, remote: Remote) -> None:
    pod.run(make_order(remote.url, f"echo 'sh: 0: Cannot fork' >&2; {WORK}"))

    assert pod.result.outcome is Outcome.SUCCESS


@pytest.mark.parametrize(
    "line",
    [
        "sh: 0: Cannot fork",
        "bash: fork: retry: Resource temporarily unavailable",
        "RuntimeError: can't start new thread",
        "BlockingIOError: [Errno 11] fork: Resource temporarily unavailable",
        "Error: spawn git EAGAIN",
        "/bin/sh: can't fork: Resource temporarily unavailable",
    ],
)
def test_the_words_for_no_more_processes_are_known(line: str) -> None:
    signs = Signs()

    signs.look_at(line)

    assert signs.no_process


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("x.clone(); // an ordinary line " * 30_000, id="a megabyte of code"),
        pytest.param("the fork is on the table", id="a fork"),
        pytest.param("EAGAIN is handled in read()", id="EAGAIN of something else"),
    ],
)
def test_what_an_agent_reads_aloud_is_no_complaint(line: str) -> None:
    signs = Signs()

    signs.look_at(line)

    assert not signs.no_process


class SlowToStop(Channel):
    """A container's control that stops it when the test lets it."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, ())
        self.is_asked = threading.Event()
        self.may_stop = threading.Event()

    def stop(self) -> None:
        self.is_asked.set()
        self.may_stop.wait()
        super().stop()


def is_over_before_its_container(watch: AgentWatch, control: SlowToStop) -> bool:
    """Let the watch stop the container; return whether `stop` came back before that was done."""
    watch.start()
    wait_until(control.is_asked.is_set)

    stopping = threading.Thread(target=watch.stop)
    stopping.start()
    stopping.join(0.2)
    was_over = not stopping.is_alive()
    control.may_stop.set()
    stopping.join(60)
    return was_over


def test_watch_that_stops_the_container_is_not_over_before_that_is_done(
    runner: LoneRunner, tmp_path: Path
) -> None:
    context = runner.context
    context.paths.worktree.mkdir(parents=True)
    (context.paths.worktree / "big").write_bytes(bytes(range(256)) * 256)
    control = SlowToStop(tmp_path / "control")
    context = replace(context, agent_control=control)
    watch = AgentWatch(context, [DiskQuestion(context, limit=1)])

    assert not is_over_before_its_container(watch, control)
    assert watch.verdict is FULL


def test_a_folder_that_is_gone_takes_no_space(tmp_path: Path) -> None:
    assert used_bytes(tmp_path / "gone") == 0

"""The control protocol: the runner's end against the real shim, under every shell it promises."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from afresh.contract.shim import SHIM
from afresh.episode.control import (
    Command,
    ContainerGone,
    ContainerRefused,
    Control,
    Ending,
    Patience,
)
from tests.episode.pod import NAMESPACE, wait_until

SHELLS = {"dash": ("dash",), "bash": ("bash", "--posix"), "busybox": ("busybox", "ash")}
QUICK = Patience(after_term=0.2, after_kill=0.5)


@dataclass
class Container:
    """A shim in a PID namespace of its own, and the runner's control of it."""

    control: Control
    process: subprocess.Popen[bytes]
    directory: Path
    out: bytearray = field(default_factory=bytearray)
    err: bytearray = field(default_factory=bytearray)

    def run(self, script: str, *, limit: float = 20, stdin: str | None = None) -> Ending:
        command = Command(name="test", script=script, limit=limit, stdin=stdin)
        return self.control.run(command, self.out.extend, self.err.extend, lambda: None)

    @property
    def first_process(self) -> int:
        """The shim's own number, seen from here."""
        return children_of(self.process.pid)[0]


def children_of(process: int) -> list[int]:
    return [
        int(child) for child in Path(f"/proc/{process}/task/{process}/children").read_text().split()
    ]


def start(directory: Path, shell: tuple[str, ...], pids_limit: str = "2000") -> Container:
    if shutil.which(shell[0]) is None:
        pytest.skip(f"{shell[0]} is not installed")
    directory.mkdir(exist_ok=True)
    process = subprocess.Popen(
        [*NAMESPACE, *shell, "-c", SHIM],
        env={
            "PATH": os.environ["PATH"],
            "AFRESH_CONTROL": str(directory),
            "AFRESH_PIDS_LIMIT": pids_limit,
        },
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    return Container(Control(directory, QUICK), process, directory)


@pytest.fixture(params=SHELLS.values(), ids=SHELLS.keys())
def shell(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return request.param


@pytest.fixture
def container(tmp_path: Path, shell: tuple[str, ...]) -> Iterator[Container]:
    made = start(tmp_path / "control", shell)
    made.control.open()
    made.control.greet()
    yield made
    made.process.kill()
    made.process.wait(timeout=10)


def test_command_gets_its_input_and_its_output_and_exit_code_come_back(container: Container):
    ending = container.run("cat; echo problem >&2; exit 7", stdin="a brief\n")

    assert ending == Ending(exit_code=7)
    assert (container.out, container.err) == (b"a brief\n", b"problem\n")


def test_command_without_input_reads_nothing(container: Container):
    assert container.run("cat") == Ending(exit_code=0)
    assert container.out == b""


def test_command_has_no_control_files_open_and_ignores_no_signal(container: Container):
    container.run("exec ls /proc/self/fd; :")
    container.run("exec grep SigIgn /proc/self/status")

    assert container.out.split() == [b"0", b"1", b"2", b"3", b"SigIgn:", b"0000000000000000"]


def test_fifos_have_no_names_after_the_greeting(container: Container):
    assert list(container.directory.iterdir()) == []


def test_commands_run_one_after_another_and_daemons_live_on_between_them(container: Container):
    container.run("sleep 600 & echo $! > $AFRESH_CONTROL/daemon")
    ending = container.run("kill -0 $(cat $AFRESH_CONTROL/daemon)")

    assert ending == Ending(exit_code=0)


def test_clearing_leaves_no_process(container: Container):
    container.run("setsid sleep 600 & sleep 600 & echo started")

    assert container.control.clear()
    container.run("ls -d /proc/[0-9]* | wc -l")
    # The first process, its listener, the script's shell, ls and wc.
    assert int(container.out.split()[-1]) <= 5


def test_command_that_obeys_term_ends_at_its_limit(container: Container):
    assert container.run("exec sleep 600", limit=0.1) == Ending(exit_code=143, timed_out=True)


def test_command_that_ignores_term_is_killed_with_its_children(container: Container):
    ending = container.run("trap '' TERM; sleep 600 & while :; do sleep 1; done", limit=0.1)

    assert ending == Ending(exit_code=137, timed_out=True)


def test_orphans_are_reaped_while_a_command_runs(container: Container):
    orphans = "for i in 1 2 3 4 5; do (sleep 0.01 &); done"
    wait = "while ps -e -o stat=,comm= | grep -q 'Z.*sleep'; do sleep 0.01; done"

    assert container.run(f"{orphans}; sleep 0.05; {wait}", limit=5) == Ending(exit_code=0)


def test_words_that_are_stolen_make_the_runner_give_up_in_time(container: Container):
    thief = (
        "trap '' TERM; for f in /proc/1/fd/*; do case $(readlink $f) in */go*) for i in 1 2 3 4 5;"
        " do cat $f > /dev/null & done;; esac; done; sleep 600"
    )

    assert container.run(thief, limit=0.2).timed_out


def test_container_that_is_killed_is_noticed_at_once(container: Container):
    os.kill(container.first_process, signal.SIGKILL)

    with pytest.raises(ContainerGone):
        container.run("sleep 600")


def test_container_that_is_told_to_leave_ends_well(container: Container):
    container.control.leave()

    assert container.process.wait(timeout=10) == 0


def test_container_that_starts_after_the_runner_is_done_ends_well(
    tmp_path: Path, shell: tuple[str, ...]
):
    Control(tmp_path / "control").leave()

    made = start(tmp_path / "control", shell)

    assert made.process.wait(timeout=10) == 0


@pytest.mark.parametrize("greeted", [True, False], ids=["waiting for words", "waiting for FIFOs"])
def test_term_ends_an_idle_container_at_once(tmp_path: Path, shell: tuple[str, ...], greeted: bool):
    made = start(tmp_path / "control", shell)
    if greeted:
        made.control.open()
        made.control.greet()
    else:
        wait_until(lambda: bool(children_of(made.process.pid)))
        # Its trap is set when it sleeps for the first time.
        wait_until(lambda: bool(children_of(made.first_process)))

    os.kill(made.first_process, signal.SIGTERM)

    assert made.process.wait(timeout=10) == 143


@pytest.mark.parametrize("limit", ["many", "-5"])
def test_limit_that_no_shell_can_set_is_refused(tmp_path: Path, shell: tuple[str, ...], limit: str):
    made = start(tmp_path / "control", shell, pids_limit=limit)
    made.control.open()

    with pytest.raises(ContainerRefused, match="pids"):
        made.control.greet()
    assert made.process.wait(timeout=10) == 1


def test_process_limit_holds_for_the_command(container: Container):
    container.run("exec grep 'Max processes' /proc/self/limits")

    assert container.out.split()[2:4] == [b"2000", b"2000"]


def test_shim_outside_of_a_container_refuses_to_run(shell: tuple[str, ...]):
    done = subprocess.run(
        [*shell, "-c", SHIM], capture_output=True, text=True, timeout=10, check=False
    )

    assert done.returncode == 1
    assert "must be the first process of a container" in done.stderr

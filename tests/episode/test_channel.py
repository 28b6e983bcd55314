"""The control protocol: the runner's end against the real shim, under every shell it promises."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path
from signal import SIGINT, SIGQUIT, SIGTERM

import pytest

from afresh.contract.shim import SHIM
from afresh.episode.container.channel import Channel, CommandEnd, ContainerGone, ContainerRefused
from tests.episode.container import Container, StartShim, children_of, sleeps
from tests.episode.pod import wait_until

# Seconds by which a script has begun, also where others keep the machine busy.
BEGUN = 2.0


def test_command_gets_its_input_and_its_output_and_exit_code_come_back(container: Container):
    ending = container.run("cat; echo problem >&2; exit 7", stdin="a brief\n")

    assert ending == CommandEnd(exit_code=7)
    assert (container.out, container.err) == (b"a brief\n", b"problem\n")


def test_command_without_input_reads_nothing(container: Container):
    assert container.run("cat") == CommandEnd(exit_code=0)
    assert container.out == b""


def test_command_has_no_control_files_open_and_ignores_no_stop(container: Container):
    container.run("exec ls /proc/self/fd; :")
    container.run("exec grep SigIgn /proc/self/status", name="later")

    *files, _, mask = container.out.split()
    stops = sum(1 << (number - 1) for number in (SIGINT, SIGQUIT, SIGTERM))
    assert files == [b"0", b"1", b"2", b"3"]
    # What this process ignores itself, as in a background job, no shell can take back.
    inherited = int(re.search(r"SigIgn:\s*(\w+)", Path("/proc/self/status").read_text())[1], 16)
    assert int(mask, 16) & stops & ~inherited == 0


def test_fifos_have_no_names_after_the_greeting(container: Container):
    assert list(container.directory.iterdir()) == []


def test_commands_run_one_after_another_and_daemons_live_on_between_them(container: Container):
    container.run("sleep 600 & echo $! > $AFRESH_CONTROL/daemon")
    ending = container.run("kill -0 $(cat $AFRESH_CONTROL/daemon)", name="later")

    assert ending == CommandEnd(exit_code=0)


def test_clearing_leaves_no_process(container: Container):
    container.run("setsid sleep 600 & sleep 600 & echo started")

    assert container.control.clear()
    container.run("ls -d /proc/[0-9]* | wc -l")
    # The first process, its listener, the script's shell, ls and wc.
    assert int(container.out.split()[-1]) <= 5


def test_command_that_obeys_term_ends_at_its_limit(container: Container):
    assert container.run("exec sleep 600", limit=BEGUN) == CommandEnd(exit_code=143, timed_out=True)


def test_command_that_ignores_term_is_killed_with_its_children(container: Container):
    ending = container.run("trap '' TERM; sleep 600 & while :; do sleep 1; done", limit=BEGUN)

    assert ending == CommandEnd(exit_code=137, timed_out=True)


def test_orphans_are_reaped_while_a_command_runs(container: Container):
    orphans = "for i in 1 2 3 4 5; do (sleep 0.01 &); done"
    wait = "while ps -e -o stat=,comm= | grep -q 'Z.*sleep'; do sleep 0.01; done"

    assert container.run(f"{orphans}; sleep 0.05; {wait}", limit=5) == CommandEnd(exit_code=0)


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

    assert container.process.wait(timeout=120) == 0


def test_container_that_starts_after_the_runner_is_done_ends_well(
    tmp_path: Path, start_shim: StartShim
):
    Channel(tmp_path / "control", ()).leave()

    made = start_shim()

    assert made.process.wait(timeout=120) == 0


@pytest.mark.parametrize("greeted", [True, False], ids=["waiting for words", "waiting for FIFOs"])
def test_term_ends_an_idle_container_at_once(start_shim: StartShim, greeted: bool):
    made = start_shim()
    if greeted:
        made.control.open()
        made.control.greet()
        # A signal just before a shell's `read` waits for the next word, or for the runner's end.
        made.run(":")
        wait_until(lambda: sleeps(made.first_process))
    else:
        wait_until(lambda: bool(children_of(made.process.pid)))
        # Its trap is set when it sleeps for the first time.
        wait_until(lambda: bool(children_of(made.first_process)))

    os.kill(made.first_process, signal.SIGTERM)

    assert made.process.wait(timeout=120) == 143


@pytest.mark.parametrize("limit", ["many", "-5"])
def test_limit_that_no_shell_can_set_is_refused(start_shim: StartShim, limit: str):
    made = start_shim(pids_limit=limit)
    made.control.open()

    with pytest.raises(ContainerRefused, match="pids"):
        made.control.greet()
    assert made.process.wait(timeout=120) == 1


def test_process_limit_holds_for_the_command(container: Container):
    container.run("exec grep 'Max processes' /proc/self/limits")

    assert container.out.split()[2:4] == [b"2000", b"2000"]


def test_shim_that_is_not_the_first_process_says_so_and_ends(
    tmp_path: Path, shell: tuple[str, ...]
):
    if shutil.which(shell[0]) is None:
        pytest.skip(f"{shell[0]} is not installed")
    control = Channel(tmp_path, ())
    control.open()
    environment = {"PATH": os.environ["PATH"], "AFRESH_CONTROL": str(tmp_path)}

    with subprocess.Popen([*shell, "-c", SHIM], env=environment, stderr=subprocess.PIPE) as shim:
        with pytest.raises(ContainerRefused, match="first"):
            control.greet()
        _, err = shim.communicate(timeout=120)

    assert shim.returncode == 1
    assert b"must be the first process of a container" in err

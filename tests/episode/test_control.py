"""The control protocol: the runner's end against the real shim, under every shell it promises."""

import os
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from signal import SIGINT, SIGQUIT, SIGTERM

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

    def run(
        self, script: str, *, limit: float = 20, stdin: str | None = None, name: str = "test"
    ) -> Ending:
        command = Command(name=name, script=script, limit=limit, stdin=stdin)
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
    return Container(Control(directory, ("test", "later"), QUICK), process, directory)


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
    made.process.wait(timeout=120)


def test_command_gets_its_input_and_its_output_and_exit_code_come_back(container: Container):
    ending = container.run("cat; echo problem >&2; exit 7", stdin="a brief\n")

    assert ending == Ending(exit_code=7)
    assert (container.out, container.err) == (b"a brief\n", b"problem\n")


def test_command_without_input_reads_nothing(container: Container):
    assert container.run("cat") == Ending(exit_code=0)
    assert container.out == b""


def test_command_has_no_control_files_open_and_ignores_no_stop(container: Container):
    container.run("exec ls /proc/self/fd; :")
    container.run("exec grep SigIgn /proc/self/status", name="later")

    *files, _, mask = container.out.split()
    stops = sum(1 << (number - 1) for number in (SIGINT, SIGQUIT, SIGTERM))
    assert files == [b"0", b"1", b"2", b"3"]
    assert int(mask, 16) & stops == 0


def test_fifos_have_no_names_after_the_greeting(container: Container):
    assert list(container.directory.iterdir()) == []


def test_commands_run_one_after_another_and_daemons_live_on_between_them(container: Container):
    container.run("sleep 600 & echo $! > $AFRESH_CONTROL/daemon")
    ending = container.run("kill -0 $(cat $AFRESH_CONTROL/daemon)", name="later")

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

    assert container.process.wait(timeout=120) == 0


def test_container_that_starts_after_the_runner_is_done_ends_well(
    tmp_path: Path, shell: tuple[str, ...]
):
    Control(tmp_path / "control", ()).leave()

    made = start(tmp_path / "control", shell)

    assert made.process.wait(timeout=120) == 0


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

    assert made.process.wait(timeout=120) == 143


@pytest.mark.parametrize("limit", ["many", "-5"])
def test_limit_that_no_shell_can_set_is_refused(tmp_path: Path, shell: tuple[str, ...], limit: str):
    made = start(tmp_path / "control", shell, pids_limit=limit)
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
    control = Control(tmp_path, ())
    control.open()
    environment = {"PATH": os.environ["PATH"], "AFRESH_CONTROL": str(tmp_path)}

    with subprocess.Popen([*shell, "-c", SHIM], env=environment, stderr=subprocess.PIPE) as shim:
        with pytest.raises(ContainerRefused, match="first"):
            control.greet()
        _, err = shim.communicate(timeout=120)

    assert shim.returncode == 1
    assert b"must be the first process of a container" in err


# A program that reads every word said to process 1, and answers with all of them.
ECHO = """
go= done=
for f in /proc/1/fd/*; do
  case $(readlink $f) in */.go*|*/go*) go=$f ;; */.done*|*/done*) done=$f ;; esac
done
exec 7<>$go 8>$done
touch $AFRESH_CONTROL/listening
while read -r line <&7; do
  for word in $line; do
    printf 'started %s\nrc %s 0\nkilled %s\nkilled\nrc test 0\n' $word $word $word >&8
  done
done
"""


def test_daemon_that_steals_what_is_said_cannot_forge_the_end_of_a_later_command(
    container: Container,
):
    container.run(
        f"(trap '' TERM; {ECHO}) & while [ ! -e {container.directory}/listening ]; do :; done"
    )

    ending = container.run("exit 3", name="later", limit=0.5)

    assert ending.exit_code != 0


def test_daemon_that_steals_what_is_said_cannot_forge_that_nothing_is_left(container: Container):
    script = f"(trap '' TERM; {ECHO}) & while [ ! -e {container.directory}/listening ]; do :; done"
    container.run(script)
    (listener,) = processes_of(container)

    cleared = container.control.clear()

    assert not (cleared and Path(f"/proc/{listener}").exists())


@pytest.mark.parametrize(
    "said",
    [
        pytest.param("run ../evil", id="another script"),
        pytest.param("run later", id="a command before its time"),
        pytest.param("keys a later b c", id="keys of its own"),
    ],
)
def test_program_that_speaks_in_the_runners_place_gives_no_later_command_a_good_end(
    container: Container, said: str
):
    (container.directory.parent / "evil.sh").write_text("exit 0\n")
    container.run(
        "for f in /proc/1/fd/*; do case $(readlink $f) in */go*|*/.go*)"
        f" echo '{said}' > $f;; esac; done"
    )

    ending = container.run("exit 3", name="later", limit=0.5)

    assert ending.exit_code != 0


def test_keys_are_in_no_environment_and_on_no_command_line(container: Container):
    container.run("cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline $AFRESH_CONTROL/* | tr '\\0' ' '")

    shown = bytes(container.out).decode()
    assert "AFRESH_CONTROL" in shown
    assert not re.search(r"[0-9a-f]{32}", shown)


def processes_of(container: Container) -> list[int]:
    """The children of the first process, seen from here."""
    return children_of(container.first_process)

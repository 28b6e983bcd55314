"""Programs in a container that speak in the shim's place, or in the runner's."""

import re
from pathlib import Path

import pytest

from tests.episode.container import Container, children_of

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
    (listener,) = children_of(container.first_process)

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

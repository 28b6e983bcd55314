"""A process that a test has stopped goes on, however the test ends."""

import subprocess
from collections.abc import Iterator

import pytest

from tests.episode.pod import wait_until
from tests.stopped_process import state_of, stopped


@pytest.fixture
def process() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as sleeper:
        yield sleeper
        sleeper.kill()


def is_stopped(process: subprocess.Popen[bytes]) -> bool:
    return state_of(process.pid) == "T"


def fail_while_stopped(process: subprocess.Popen[bytes]) -> None:
    with stopped(process):
        wait_until(lambda: is_stopped(process))
        pytest.fail("as a test does")


def test_process_goes_on_when_the_block_fails(process: subprocess.Popen[bytes]):
    with pytest.raises(pytest.fail.Exception, match="as a test does"):
        fail_while_stopped(process)

    wait_until(lambda: not is_stopped(process))


def test_process_that_was_killed_meanwhile_is_no_error(process: subprocess.Popen[bytes]):
    with stopped(process):
        process.kill()
        process.wait()

    assert process.returncode

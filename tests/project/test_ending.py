"""A run of the tests that is told to end leaves nothing behind."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.project.makefile import ROOT

SERVER = """
import pathlib, time, pytest

@pytest.fixture(scope="session")
def server():
    yield
    pathlib.Path("is-down").touch()

def test_that_uses_it(server):
    print("it is up", flush=True)
    time.sleep(600)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_run_in_the_background_that_is_told_to_end_takes_down_what_it_has_started(
    number: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "test_server.py").write_text(SERVER)
    (tmp_path / "pytest.ini").write_text("[pytest]")
    background = ["/bin/sh", "-c", "trap '' INT; exec \"$@\"", "sh"]
    command = [sys.executable, "-m", "pytest", "-sq", "-p", "tests.conftest", "test_server.py"]

    with subprocess.Popen(
        [*background, *command],
        cwd=tmp_path,
        env={"PYTHONPATH": f"{ROOT}:{ROOT / 'controller'}"},
        stdout=subprocess.PIPE,
        text=True,
    ) as run:
        assert run.stdout is not None
        for line in run.stdout:
            if "it is up" in line:
                run.send_signal(number)

    assert run.returncode == pytest.ExitCode.INTERRUPTED
    assert (tmp_path / "is-down").exists()

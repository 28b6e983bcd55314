"""The runner as a process: no SIGTERM is lost, however early it comes."""

import subprocess
import sys

from tests.episode.pod import CONTROLLER

EARLY = """
import os, signal, threading
from afresh.episode.process import hold_terminate, on_terminate
hold_terminate()
os.kill(os.getpid(), signal.SIGTERM)
on_terminate(lambda: os._exit(7))
threading.Event().wait(30)
"""


def test_stop_that_comes_before_anybody_can_react_is_reacted_to_later():
    done = subprocess.run(
        [sys.executable, "-c", EARLY], env={"PYTHONPATH": str(CONTROLLER)}, check=False, timeout=60
    )

    assert done.returncode == 7

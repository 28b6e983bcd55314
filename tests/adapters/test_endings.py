"""What a failed program's own words mean, where they are many."""

import subprocess
import sys

from tests.episode.pod import CONTROLLER

# The kernel ends what takes far longer than one pass over a line.
PROGRAM = """
import json, resource
from afresh.adapters.claude import ClaudeAdapter

resource.setrlimit(resource.RLIMIT_CPU, (20, 20))
reader = ClaudeAdapter().reader(behind_gateway=False)
words = "hit your " * 110_000
event = {"type": "result", "subtype": "error", "is_error": True, "result": words}
reader.event(json.dumps(event))
print(reader.verdict(1).message.rpartition("Details: ")[2][:50])
"""


def test_hostile_words_of_a_failure_take_no_more_than_a_pass_over_them():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={"PYTHONPATH": str(CONTROLLER)},
        check=False,
        timeout=300,
        capture_output=True,
        text=True,
    )

    want = ("hit your " * 9)[:50] + "\n"
    assert (done.stdout, done.returncode) == (want, 0), done.stderr

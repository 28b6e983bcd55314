"""What an agent program cannot do, as the log and the Report tell it."""

import os

from afresh.adapters.aider import NO_COMMANDS
from afresh.contract.order import Agent
from afresh.contract.words import AdapterName, Outcome
from tests.episode.pod import Pod, make_order
from tests.episode.servers import Remote

PROGRAM = """#!/bin/sh
echo "Aider v0.86.2"
cat >greeting.txt
echo "Tokens: 11 sent, 7 received."
"""


def test_program_that_cannot_do_all_that_is_asked_works_and_the_report_and_the_log_say_so(
    pod: Pod, remote: Remote
):
    program = pod.put("/bin/aider", PROGRAM)
    program.chmod(0o755)
    pod.image_environment = {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    agent = Agent(adapter=AdapterName.AIDER, timeout_seconds=120)

    pod.run(make_order(remote.url, "", agent=agent))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert pod.result.warnings == (NO_COMMANDS,)
    assert f"afresh: {NO_COMMANDS}" in pod.log

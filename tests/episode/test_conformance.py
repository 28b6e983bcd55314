"""The trial of an agent's image, tried on images that are made of this machine's programs."""

import os
from dataclasses import replace

import pytest

from afresh.contract import codec
from afresh.contract.conformance import REQUIREMENTS, CheckResult, Findings
from afresh.contract.order import Agent
from afresh.contract.words import AdapterName, CredentialsMode
from tests.episode.pod import LIMIT_SECONDS, Pod, make_order

CLAUDE = Agent(
    adapter=AdapterName.CLAUDE, credentials_mode=CredentialsMode.GATEWAY, secret_name="none"
)
# A program that asks as Claude Code does, as far as a trial can tell.
ASKS = """#!/bin/sh
[ "$1" = --version ] && {{ echo "{version} (Claude Code)"; exit 0; }}
cat >/dev/null
{before}
exec python3 -c '
import os, urllib.request
url = os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages"
request = urllib.request.Request(url, b"{{}}", {{"content-type": "application/json"}})
urllib.request.urlopen(request)
'
"""


def tried(pod: Pod, agent: Agent) -> dict[str, tuple[CheckResult, str]]:
    """Run a trial; return what came of each requirement."""
    started = replace(pod, program="afresh.episode.conformance").start(
        make_order("", "", agent=agent)
    )
    try:
        code = started.runner.wait(LIMIT_SECONDS)
    finally:
        started.kill()
    findings = codec.loads(Findings, pod.written)
    assert (code == 0) is findings.conforms, pod.log
    assert [item.id for item in findings.findings] == [item.id for item in REQUIREMENTS]
    return {item.id: (item.verdict, item.detail) for item in findings.findings}


def image_with(pod: Pod, script: str) -> None:
    """Give the agent's container a program called claude."""
    program = pod.put("/image/claude", script)
    program.chmod(0o755)
    pod.image_environment = {"PATH": f"{program.parent}:{os.environ['PATH']}"}


def failed(found: dict[str, tuple[CheckResult, str]]) -> dict[str, str]:
    return {
        name: detail for name, (verdict, detail) in found.items() if verdict is CheckResult.FAILED
    }


def test_image_that_can_do_everything_conforms(pod: Pod):
    image_with(pod, ASKS.format(version="2.1.197", before=":"))

    found = tried(pod, CLAUDE)

    assert failed(found) == {}, pod.log
    assert {verdict for verdict, _ in found.values()} == {CheckResult.PASSED}


@pytest.mark.parametrize(
    ("script", "want"),
    [
        pytest.param(
            ASKS.format(version="2.0.0", before=":"),
            {"version": "the adapter is tested with 2.1.197; the image has 2.0.0 (Claude Code)"},
            id="another version",
        ),
        pytest.param(
            ASKS.format(version="2.1.197", before="touch CACHE; mkdir .claude"),
            {"clean": "it left CACHE"},
            id="a file in the worktree that is no dropping of the program",
        ),
        pytest.param(
            ASKS.format(version="2.1.197", before="mkdir .claude; touch .claude/settings.json"),
            {"clean": "it left .claude/settings.json"},
            id="a file that an episode would commit",
        ),
        pytest.param(
            "#!/bin/sh\necho 2.1.197\n",
            {"model": "it sent no request to the model: 2.1.197"},
            id="a program that asks nobody",
        ),
        pytest.param(
            "#!/bin/sh\necho no libc >&2; exit 3\n",
            {"starts": "no libc", "model": "it sent no request to the model: no libc"},
            id="a program that cannot start",
        ),
    ],
)  # fmt: skip
def test_what_is_missing_is_named(pod: Pod, script: str, want: dict[str, str]):
    image_with(pod, script)

    assert failed(tried(pod, CLAUDE)) == want


def test_after_a_missing_program_nothing_else_is_tried(pod: Pod):
    found = tried(pod, Agent(adapter=AdapterName.COMMAND, command=("no-such-program",)))

    assert list(failed(found)) == ["program"]
    assert found["clean"][0] is found["git"][0] is CheckResult.NOT_TRIED


def test_shell_that_can_set_no_process_limit_does_not_conform(pod: Pod):
    pod.pids_limit = "many"

    found = tried(pod, CLAUDE)

    assert failed(found) == {"shell": "it cannot limit processes"}


def test_command_is_tried_for_what_the_container_promises_only(pod: Pod):
    found = tried(pod, Agent(adapter=AdapterName.COMMAND, command=("cat",)))

    assert failed(found) == {}
    assert [name for name, (verdict, _) in found.items() if verdict is CheckResult.NOT_TRIED] == [
        "starts", "model", "version",
    ]  # fmt: skip

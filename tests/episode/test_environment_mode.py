"""An agent that holds its credentials itself: variables of its container, files of the runner."""

import json
import os
from dataclasses import replace

import pytest

from afresh.contract.order import Agent, Order
from afresh.contract.words import AdapterName, CredentialsMode, Outcome
from tests.episode.pod import Pod, make_agent, make_order
from tests.episode.servers import Remote

TOKEN = "a-token-of-the-model-provider"
BY_ITSELF = {"credentials_mode": CredentialsMode.ENVIRONMENT, "secret_name": "model"}


def give(pod: Pod, **variables: str) -> None:
    """What the kubelet makes of the Secret."""
    for name, value in variables.items():
        pod.put(f"/afresh/secrets/model/{name}", value)
    pod.image_environment |= variables


def order_for(remote: Remote, script: str) -> Order:
    return make_order(remote.url, "", agent=replace(make_agent(script), **BY_ITSELF))


def test_agent_has_the_variables_and_what_it_prints_of_them_is_hidden(pod: Pod, remote: Remote):
    give(pod, MODEL_TOKEN=TOKEN, username="a-name-that-is-secret-too")

    report = pod.run(order_for(remote, 'echo "$MODEL_TOKEN $username" | tee hello.txt'))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert "[redacted] [redacted]" in report.log_tail
    assert TOKEN not in pod.log + pod.written
    assert "a-name-that-is-secret-too" not in pod.log + pod.written


def test_missing_secret_is_named_and_no_agent_is_started(pod: Pod, remote: Remote):
    report = pod.run(order_for(remote, "echo > hello.txt"))

    assert pod.result.outcome is Outcome.CONFIG, pod.log
    assert pod.result.message == (
        'Secret "model" in namespace "team-a" is missing or has no key; '
        "create it or correct spec.credentials.secretName of the AgentClass."
    )
    assert "agentStarted" not in report.phases


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("API Error: Request rejected (429)", Outcome.TRANSIENT, id="a rate limit"),
        pytest.param("Invalid API key · Fix external API key", Outcome.AUTH, id="a refused key"),
        pytest.param("Something else", Outcome.AGENT_ERROR, id="a failure of its own"),
    ],
)
def test_words_of_the_program_decide_where_there_is_no_gateway(
    pod: Pod, remote: Remote, text: str, want: Outcome
):
    result = {"type": "result", "subtype": "success", "is_error": True, "result": text}
    pod.put("/line", json.dumps(result) + "\n")
    program = pod.put("/bin/claude", f"#!/bin/sh\ncat {pod.root}/line\nexit 1\n")
    program.chmod(0o755)
    give(pod, ANTHROPIC_API_KEY=TOKEN, PATH=f"{program.parent}:{os.environ['PATH']}")
    agent = Agent(adapter=AdapterName.CLAUDE, timeout_seconds=120)

    report = pod.run(make_order(remote.url, "", agent=replace(agent, **BY_ITSELF)))

    assert pod.result.outcome is want, pod.log
    assert report.usage.turns == 0

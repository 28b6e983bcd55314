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
    assert report.answered, "its program ended well, and nobody else can tell"
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
    assert (report.usage.turns, report.answered) == (0, False)


ENDLESS = {
    AdapterName.CODEX: (
        "codex",
        {"type": "item.started", "item": {"id": "item_1", "type": "command_execution"}},
        {"type": "item.completed", "item": {"id": "item_1", "type": "command_execution"}},
    ),
    AdapterName.OPENCODE: ("opencode", {"type": "step_finish", "part": {"reason": "tool-calls"}}),
}


def endless(pod: Pod, adapter: AdapterName, times: int) -> Agent:
    """An agent that works for so many answers, and then waits for a last one that never comes."""
    name, *events = ENDLESS[adapter]
    pod.put("/lines", "".join(json.dumps(event) + "\n" for event in events))
    works = f"for i in $(seq {times}); do cat {pod.root}/lines; done"
    program = pod.put(f"/bin/{name}", f"#!/bin/sh\n{works}\nexec sleep 100\n")
    program.chmod(0o755)
    give(pod, API_KEY=TOKEN, PATH=f"{program.parent}:{os.environ['PATH']}")
    return replace(Agent(adapter=adapter, max_turns=5, timeout_seconds=120), **BY_ITSELF)


@pytest.mark.parametrize("adapter", ENDLESS)
def test_agent_that_asks_once_more_than_it_may_is_ended_where_there_is_no_gateway(
    pod: Pod, remote: Remote, adapter: AdapterName
):
    pod.run(make_order(remote.url, "", agent=endless(pod, adapter, 5)))

    assert pod.result.outcome is Outcome.TURN_LIMIT, pod.log
    assert "spec.episode.maxTurns" in pod.result.message


@pytest.mark.parametrize("adapter", ENDLESS)
def test_agent_within_its_turns_is_let_alone(pod: Pod, remote: Remote, adapter: AdapterName):
    agent = replace(endless(pod, adapter, 4), timeout_seconds=3)

    pod.run(make_order(remote.url, "", agent=agent))

    assert pod.result.outcome is Outcome.TIMEOUT, pod.log

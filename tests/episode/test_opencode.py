"""The real OpenCode over several subtasks, and what it leaves behind after one."""

from pathlib import Path

import pytest

from afresh.contract.order import Agent, Order
from afresh.contract.words import AdapterName, CredentialsMode, ModelApiName, Outcome
from tests.episode.matrix import AGENT_SECONDS, KEY
from tests.episode.pod import Pod, batch_of, make_order
from tests.episode.recorder import recording
from tests.episode.servers import Remote
from tests.programs import opencode_program

pytestmark = pytest.mark.slow
BRANCH = "afresh/demo"


@pytest.fixture(scope="module")
def program() -> Path:
    return opencode_program("1.18.33")


@pytest.fixture
def agent_pod(pod: Pod, program: Path) -> Pod:
    pod.put("/afresh/secrets/model/api-key", KEY)
    pod.image_environment = {"PATH": f"{program.parent}:/usr/local/bin:/usr/bin:/bin"}
    return pod


def order_for(remote: Remote, port: int, *prompts: str) -> Order:
    agent = Agent(
        adapter=AdapterName.OPENCODE,
        model_api=ModelApiName.ANTHROPIC,
        endpoint=f"http://127.0.0.1:{port}",
        credentials_mode=CredentialsMode.GATEWAY,
        secret_name="anthropic",
        timeout_seconds=AGENT_SECONDS,
    )
    return batch_of(make_order(remote.url, "", agent=agent), *prompts)


def databases(pod: Pod) -> list[str]:
    return [file.name for file in (pod.root / "home/agent").rglob("*.db")]


def test_two_subtasks_are_done_in_one_conversation(agent_pod: Pod, remote: Remote, model_port: int):
    prompts = [f"demo-model: shell echo {word} > {word}.txt" for word in ("one", "two")]

    with recording(model_port) as (port, asked):
        report = agent_pod.run(order_for(remote, port, *prompts))

    assert [result.outcome for result in report.results] == [Outcome.SUCCESS] * 2, agent_pod.log
    assert remote.files(BRANCH)[-2:] == ["one.txt", "two.txt"]
    mentions = [[f"echo {word} >" in body for word in ("one", "two")] for body in asked]
    assert mentions[0] == [True, False]
    assert mentions[-1] == [True, True]
    assert databases(agent_pod) == ["opencode.db"]


def test_one_subtask_leaves_no_conversation_in_the_home_and_fetches_no_package(
    agent_pod: Pod, remote: Remote, model_port: int
):
    agent_pod.run(order_for(remote, model_port, "demo-model: shell echo one > one.txt"))

    assert agent_pod.result.outcome is Outcome.SUCCESS, agent_pod.log
    assert databases(agent_pod) == []
    assert not (agent_pod.root / "home/agent/.npm").exists()

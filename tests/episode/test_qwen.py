"""The real Qwen Code as the agent, where it has ways of its own; the rest is the matrix's."""

import asyncio
import json
import os
from dataclasses import replace

import pytest

from afresh.contract.order import Agent, Order
from afresh.contract.words import AdapterName, CredentialsMode, Outcome
from tests.episode.matrix import AGENT_SECONDS, KEY, PROGRAMS
from tests.episode.pod import Pod, batch_of, make_order
from tests.episode.recorder import recording
from tests.episode.servers import Remote
from tests.episode.upstream import answers, providing
from tests.programs import node_folder

pytestmark = pytest.mark.slow
BRANCH = "afresh/demo"
QWEN = next(program for program in PROGRAMS if program.adapter is AdapterName.QWEN)
TOO_LONG = {
    "error": {
        "message": "This model's maximum context length is 128000 tokens.",
        "type": "invalid_request_error",
        "param": "messages",
        "code": "context_length_exceeded",
    }
}


@pytest.fixture
def qwen_pod(pod: Pod) -> Pod:
    pod.put("/afresh/secrets/model/api-key", KEY)
    path = f"{QWEN.install().parent}:{node_folder()}:{os.environ['PATH']}"
    pod.image_environment = {"PATH": path}
    return pod


def order_for(remote: Remote, endpoint: str, *prompts: str, **changes: object) -> Order:
    """An order with one subtask for each prompt."""
    agent = Agent(
        adapter=AdapterName.QWEN,
        model=QWEN.model,
        endpoint=endpoint,
        credentials_mode=CredentialsMode.GATEWAY,
        secret_name="model-key",
        timeout_seconds=AGENT_SECONDS,
    )
    order = make_order(remote.url, "", agent=replace(agent, **changes))
    return batch_of(order, *prompts)


def test_two_subtasks_are_done_in_one_conversation_with_turns_of_their_own(
    qwen_pod: Pod, remote: Remote, model_port: int
):
    prompts = [f"demo-model: shell echo {word} > {word}.txt" for word in ("one", "two")]

    with recording(model_port) as (port, asked):
        report = qwen_pod.run(order_for(remote, f"http://127.0.0.1:{port}", *prompts))

    assert [result.outcome for result in report.results] == [Outcome.SUCCESS] * 2, qwen_pod.log
    assert remote.files(BRANCH)[-2:] == ["one.txt", "two.txt"]
    mentions = [[f"echo {word} >" in body for word in ("one", "two")] for body in asked]
    assert mentions == [[True, False]] * 2 + [[True, True]] * 2
    assert [result.usage and result.usage.turns for result in report.results] == [2, 2]


def test_one_subtask_leaves_no_conversation_no_key_and_a_clean_worktree(
    qwen_pod: Pod, remote: Remote, model_port: int
):
    look = "git status --porcelain > status.txt; env > environment.txt"
    prompt = f"demo-model: shell {look}"

    qwen_pod.run(order_for(remote, f"http://127.0.0.1:{model_port}", prompt))

    assert qwen_pod.result.outcome is Outcome.SUCCESS, qwen_pod.log
    assert remote.file(BRANCH, "status.txt") == "?? status.txt"
    environment = remote.file(BRANCH, "environment.txt")
    assert "OPENAI_API_KEY=held-by-the-gateway" in environment
    home = [file for file in (qwen_pod.root / "home").rglob("*") if file.is_file()]
    assert [file for file in home if file.suffix == ".jsonl" and "chats" in file.parts] == []
    assert KEY not in environment + qwen_pod.log
    assert KEY.encode() not in b"".join(file.read_bytes() for file in home)


async def test_conversation_that_fills_the_context_is_not_taken_for_a_success(
    qwen_pod: Pod, remote: Remote
):
    async with providing(answers(400, TOO_LONG)) as provider:
        order = order_for(remote, provider.url, "Write one.txt.")
        await asyncio.to_thread(qwen_pod.run, order)

    assert qwen_pod.result.outcome is Outcome.CONTEXT_EXHAUSTED, qwen_pod.log


def test_image_without_the_program_is_a_matter_of_configuration(
    pod: Pod, remote: Remote, model_port: int
):
    pod.put("/afresh/secrets/model/api-key", KEY)
    pod.image_environment = {"PATH": "/usr/bin:/bin"}

    pod.run(order_for(remote, f"http://127.0.0.1:{model_port}", "demo-model: idle"))

    assert pod.result.outcome is Outcome.CONFIG, pod.log
    assert "cannot run the program qwen" in pod.result.message


def test_turns_are_kept_where_there_is_no_gateway(qwen_pod: Pod, remote: Remote, model_port: int):
    base = f"http://127.0.0.1:{model_port}"
    own = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{base}/v1", "OPENAI_MODEL": QWEN.model}
    qwen_pod.put("/afresh/secrets/model/OPENAI_API_KEY", KEY)
    qwen_pod.image_environment = {**qwen_pod.image_environment, **own}
    mode = CredentialsMode.ENVIRONMENT

    qwen_pod.run(order_for(remote, base, "demo-model: endless", max_turns=2, credentials_mode=mode))

    assert qwen_pod.result.outcome is Outcome.TURN_LIMIT, qwen_pod.log
    assert json.dumps("echo still working") in qwen_pod.log

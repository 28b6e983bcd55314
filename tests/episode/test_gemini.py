"""The real Gemini CLI as the agent, where it has ways of its own; the rest is the matrix's."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path

import pytest

from afresh.contract.order import Agent, Order, Task, Verify
from afresh.contract.words import AdapterName, CredentialsMode, Outcome
from tests.episode.matrix import AGENT_SECONDS, KEY
from tests.episode.pod import Pod, batch_of, make_order
from tests.episode.recorder import recording
from tests.episode.servers import SCRIPTS, Remote
from tests.episode.upstream import providing, streams
from tests.programs import node_folder, npm_program

pytestmark = pytest.mark.slow
BRANCH = "afresh/demo"


@pytest.fixture
def gemini_pod(pod: Pod) -> Pod:
    program = npm_program("@google/gemini-cli", "0.61.0", "gemini")
    pod.put("/afresh/secrets/model/api-key", KEY)
    pod.image_environment = {"PATH": f"{program.parent}:{node_folder()}:/usr/bin:/bin"}
    return pod


def order_for(remote: Remote, endpoint: str, *prompts: str, **changes: object) -> Order:
    """An order with one subtask for each prompt."""
    agent = Agent(
        adapter=AdapterName.GEMINI,
        model="gemini-2.5-pro",
        endpoint=endpoint,
        credentials_mode=CredentialsMode.GATEWAY,
        secret_name="gemini",
        timeout_seconds=AGENT_SECONDS,
    )
    order = make_order(remote.url, "", agent=replace(agent, **changes))
    return batch_of(order, *prompts)


def test_subtask_of_the_demo_is_done_with_the_programs_own_tools(
    gemini_pod: Pod, git_root: Path, git_port: int, model_port: int
):
    subtask = json.loads((SCRIPTS / "subtasks.json").read_text())[0]
    task = Task(
        id=subtask["id"],
        title=subtask["title"],
        prompt=subtask["prompt"],
        files=tuple(subtask["files"]),
        verify=Verify(command=tuple(subtask["verify"])),
    )
    remote = Remote(git_root / "ledger.git", f"http://127.0.0.1:{git_port}/ledger.git")
    order = order_for(remote, f"http://127.0.0.1:{model_port}", subtask["prompt"])
    repository = replace(order.repository, branch="afresh/gemini")

    report = gemini_pod.run(replace(order, repository=repository, tasks=(task,)))

    assert gemini_pod.result.outcome is Outcome.SUCCESS, gemini_pod.log
    assert set(subtask["files"]) <= set(remote.files("afresh/gemini"))
    assert report.usage.turns >= 4
    assert report.usage.cache_read_tokens > 0
    assert "write_file: " in gemini_pod.log


def test_two_subtasks_are_done_in_one_conversation_with_turns_of_their_own(
    gemini_pod: Pod, remote: Remote, model_port: int
):
    prompts = [f"demo-model: shell echo {word} > {word}.txt" for word in ("one", "two")]

    with recording(model_port) as (port, asked):
        report = gemini_pod.run(order_for(remote, f"http://127.0.0.1:{port}", *prompts))

    assert [result.outcome for result in report.results] == [Outcome.SUCCESS] * 2, gemini_pod.log
    assert remote.files(BRANCH)[-2:] == ["one.txt", "two.txt"]
    mentions = [[body.count(f"echo {word} >") > 0 for word in ("one", "two")] for body in asked]
    assert mentions == [[True, False]] * 2 + [[True, True]] * 2
    assert [result.usage and result.usage.turns for result in report.results] == [2, 2]


def test_class_without_a_model_leaves_the_choice_to_the_program(
    gemini_pod: Pod, remote: Remote, model_port: int
):
    prompt = "demo-model: shell echo one > one.txt"
    report = gemini_pod.run(order_for(remote, f"http://127.0.0.1:{model_port}", prompt, model=None))

    assert gemini_pod.result.outcome is Outcome.SUCCESS, gemini_pod.log
    assert report.usage.turns == 3  # the first asks which model to take


def test_class_without_a_model_does_not_go_from_one_busy_model_to_the_next(
    gemini_pod: Pod, remote: Remote, model_port: int
):
    gemini_pod.run(
        order_for(remote, f"http://127.0.0.1:{model_port}", "demo-model: unavailable", model=None)
    )

    assert gemini_pod.result.outcome is Outcome.TRANSIENT, gemini_pod.log


async def test_conversation_that_fills_the_context_is_not_taken_for_a_success(
    gemini_pod: Pod, remote: Remote
):
    call = {"functionCall": {"name": "run_shell_command", "args": {"command": "echo > one.txt"}}}
    piece = {
        "candidates": [{"content": {"role": "model", "parts": [call]}, "finishReason": "STOP"}],
        "usageMetadata": {"promptTokenCount": 1_048_570, "candidatesTokenCount": 5},
        "modelVersion": "gemini-2.5-pro",
    }

    async with providing(streams(f"data: {json.dumps(piece)}\n\n".encode())) as provider:
        order = order_for(remote, provider.url, "Write one.txt.")
        report = await asyncio.to_thread(gemini_pod.run, order)

    assert gemini_pod.result.outcome is Outcome.CONTEXT_EXHAUSTED, gemini_pod.log
    assert report.usage.turns == 1


def test_key_is_nowhere_in_the_home_and_the_worktree_is_left_clean(
    gemini_pod: Pod, remote: Remote, model_port: int
):
    prompt = "demo-model: shell git status --porcelain > status.txt"
    gemini_pod.run(order_for(remote, f"http://127.0.0.1:{model_port}", prompt))

    assert gemini_pod.result.outcome is Outcome.SUCCESS, gemini_pod.log
    assert remote.file(BRANCH, "status.txt") == "?? status.txt"
    home = [file for file in (gemini_pod.root / "home").rglob("*") if file.is_file()]
    assert Path(".gemini/settings.json") in [
        file.relative_to(gemini_pod.root / "home/agent") for file in home
    ]
    assert KEY.encode() not in b"".join(file.read_bytes() for file in home)
    assert KEY not in gemini_pod.log

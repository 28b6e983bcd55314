"""The real Codex as the agent, and a scripted model at the other end of the gateway."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from afresh.contract.order import Agent, Order, PlanLine, Task, Verify
from afresh.contract.words import AdapterName, CredentialsMode, Marker, Outcome
from tests.episode.matrix import AGENT_SECONDS, KEY, PROGRAMS
from tests.episode.pod import Pod, batch_of, make_order, make_task
from tests.episode.recorder import recording
from tests.episode.servers import SCRIPTS, Remote, git

pytestmark = pytest.mark.slow
BRANCH = "afresh/demo"
CODEX = next(program for program in PROGRAMS if program.adapter is AdapterName.CODEX)


@pytest.fixture
def codex_pod(pod: Pod) -> Pod:
    pod.put("/afresh/secrets/model/api-key", KEY)
    pod.image_environment = {"PATH": f"{CODEX.install().parent}:{os.environ['PATH']}"}
    return pod


def order_for(remote: Remote, model_port: int, prompt: str, **changes: object) -> Order:
    agent = Agent(
        adapter=AdapterName.CODEX,
        model=CODEX.model,
        endpoint=f"http://127.0.0.1:{model_port}",
        credentials_mode=CredentialsMode.GATEWAY,
        secret_name="openai",
        timeout_seconds=AGENT_SECONDS,
    )
    tasks = (make_task(prompt=prompt),)
    return make_order(remote.url, "", agent=replace(agent, **changes), tasks=tasks)


@pytest.fixture
def demo(git_root: Path, git_port: int, tmp_path: Path) -> Remote:
    """The demo's repository as it is at first, for one test alone."""
    name = tmp_path.name
    directory = git_root / f"{name}.git"
    source = str(git_root / "ledger.git")
    arguments = ("--quiet", "--bare", "--single-branch", "--branch=main")
    git(git_root, "clone", *arguments, source, str(directory))
    git(directory, "config", "http.receivepack", "true")
    return Remote(directory, f"http://127.0.0.1:{git_port}/{name}.git")


@pytest.mark.parametrize(
    ("model", "endpoint"),
    [
        pytest.param("gpt-5-codex", "", id="the model of the class"),
        pytest.param(None, "/v1", id="the program's own model, an endpoint with its version"),
    ],
)
def test_subtask_of_the_demo_is_done_and_metered_and_no_key_is_seen(
    codex_pod: Pod, demo: Remote, model_port: int, model: str | None, endpoint: str
):
    subtask = json.loads((SCRIPTS / "subtasks.json").read_text())[0]
    task = Task(
        id=subtask["id"],
        title=subtask["title"],
        prompt=subtask["prompt"],
        files=tuple(subtask["files"]),
        verify=Verify(command=tuple(subtask["verify"])),
    )
    plan = (PlanLine(id=task.id, title=task.title, marker=Marker.PENDING),)

    order = order_for(demo, model_port, "", model=model)
    agent = replace(order.agent, endpoint=f"{order.agent.endpoint}{endpoint}")
    report = codex_pod.run(replace(order, agent=agent, tasks=(task,), plan=plan))

    assert codex_pod.result.outcome is Outcome.SUCCESS, codex_pod.log
    assert set(subtask["files"]) <= set(demo.files(BRANCH))
    assert report.usage.turns >= 4
    assert report.usage.output_tokens > 100
    assert report.usage.cache_read_tokens > 100
    home = b"".join(
        file.read_bytes() for file in (codex_pod.root / "home").rglob("*") if file.is_file()
    )
    assert KEY.encode() not in home + codex_pod.log.encode()


def test_two_subtasks_are_done_in_one_conversation_with_turns_and_usage_of_their_own(
    codex_pod: Pod, remote: Remote, model_port: int
):
    order = order_for(remote, model_port, "", max_turns=3)
    prompts = [f"demo-model: shell echo {word} > {word}.txt" for word in ("one", "two")]

    with recording(model_port) as (port, asked):
        endpoint = f"http://127.0.0.1:{port}"
        order = replace(order, agent=replace(order.agent, endpoint=endpoint))
        report = codex_pod.run(batch_of(order, *prompts))

    assert [result.outcome for result in report.results] == [Outcome.SUCCESS] * 2, codex_pod.log
    assert remote.files(BRANCH)[-2:] == ["one.txt", "two.txt"]
    # The last request holds all that was said before.
    mentions = [[body.count(f"echo {word} >") for word in ("one", "two")] for body in asked]
    assert mentions[0][1] == 0
    assert all(count > 0 for count in mentions[-1])
    usages = [result.usage for result in report.results]
    assert [usage and usage.turns for usage in usages] == [2, 2]


def test_one_subtask_leaves_no_conversation_in_the_home_and_nothing_in_the_worktree(
    codex_pod: Pod, remote: Remote, model_port: int
):
    codex_pod.run(order_for(remote, model_port, "demo-model: shell echo one > one.txt"))

    assert codex_pod.result.outcome is Outcome.SUCCESS, codex_pod.log
    assert list((codex_pod.root / "home/agent").rglob("*.jsonl")) == []
    assert set(remote.files(BRANCH)) == {*remote.files("main"), ".afresh/PLAN.md", "one.txt"}


def test_fault_that_the_program_survives_is_none(codex_pod: Pod, remote: Remote, model_port: int):
    prompt = "demo-model: unavailable after=1 times=1\ndemo-model: blocked Which key?"

    codex_pod.run(order_for(remote, model_port, prompt))

    assert codex_pod.result.outcome is Outcome.BLOCKED, codex_pod.log


def test_conversation_that_outgrows_the_context_ends_the_run_before_it_is_summed_up(
    codex_pod: Pod, remote: Remote, model_port: int
):
    small = f'#!/bin/sh\nexec {CODEX.install()} -c model_context_window=5000 "$@"\n'
    program = codex_pod.put("/bin/codex", small)
    program.chmod(0o755)
    codex_pod.image_environment = {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    order = order_for(remote, model_port, "demo-model: endless", max_turns=6)

    report = codex_pod.run(order)

    assert codex_pod.result.outcome is Outcome.CONTEXT_EXHAUSTED, codex_pod.log
    assert report.usage.turns < 6


def test_image_without_the_program_is_a_matter_of_configuration(
    pod: Pod, remote: Remote, model_port: int
):
    pod.put("/afresh/secrets/model/api-key", KEY)
    pod.image_environment = {"PATH": "/usr/bin:/bin"}

    pod.run(order_for(remote, model_port, "demo-model: idle"))

    assert pod.result.outcome is Outcome.CONFIG, pod.log
    assert "cannot run the program codex" in pod.result.message


def test_turns_are_kept_where_there_is_no_gateway(codex_pod: Pod, remote: Remote, model_port: int):
    codex_pod.put("/afresh/secrets/model/CODEX_API_KEY", KEY)
    codex_pod.image_environment["CODEX_API_KEY"] = KEY
    order = order_for(remote, model_port, "demo-model: endless", max_turns=2)
    agent = replace(order.agent, credentials_mode=CredentialsMode.ENVIRONMENT)

    codex_pod.run(replace(order, agent=agent))

    assert codex_pod.result.outcome is Outcome.TURN_LIMIT, codex_pod.log
    assert codex_pod.log.count("still working (exit code 0)") == 2

"""The real Claude Code as the agent, and a scripted model at the other end of the gateway."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest

from afresh.contract.order import Agent, Budget, Order, PlanLine, Price, Task, Verify
from afresh.contract.words import AdapterName, CredentialsMode, Marker, Outcome
from tests.episode.matrix import AGENT_SECONDS, KEY
from tests.episode.pod import Pod, Started, batch_of, make_order, make_task
from tests.episode.recorder import recording
from tests.episode.report_endpoint import listening
from tests.episode.servers import SCRIPTS, Remote
from tools.fakemodel.tests.claude_cli import install

pytestmark = pytest.mark.slow
BRANCH = "afresh/demo"
PRICE = Price(
    model="claude-*",
    input_usd_per_million="3",
    output_usd_per_million="15",
    cache_read_usd_per_million="3",
    cache_write_usd_per_million="3",
)


@pytest.fixture(scope="session")
def claude() -> Path:
    return install()


@pytest.fixture
def claude_pod(pod: Pod, claude: Path) -> Pod:
    pod.put("/afresh/secrets/model/api-key", KEY)
    pod.image_environment = {
        "PATH": f"{claude.parent}:{os.environ['PATH']}",
        "IS_SANDBOX": "1",  # tests run as root, where it would refuse to work unasked
    }
    return pod


def order_for(remote: Remote, model_port: int, prompt: str, **changes: object) -> Order:
    agent = Agent(
        adapter=AdapterName.CLAUDE,
        model="claude-sonnet-4-5",
        endpoint=f"http://127.0.0.1:{model_port}",
        credentials_mode=CredentialsMode.GATEWAY,
        secret_name="anthropic",
        timeout_seconds=AGENT_SECONDS,
        pricing=(PRICE,),
    )
    task = make_task(prompt=prompt)
    return make_order(remote.url, "", agent=replace(agent, **changes), tasks=(task,))


def test_subtask_of_the_demo_is_done_and_metered_and_no_key_is_seen(
    claude_pod: Pod, git_root: Path, git_port: int, model_port: int
):
    subtask = json.loads((SCRIPTS / "subtasks.json").read_text())[0]
    remote = Remote(git_root / "ledger.git", f"http://127.0.0.1:{git_port}/ledger.git")
    task = Task(
        id=subtask["id"],
        title=subtask["title"],
        prompt=subtask["prompt"],
        files=tuple(subtask["files"]),
        verify=Verify(command=tuple(subtask["verify"])),
    )
    plan = (PlanLine(id=task.id, title=task.title, marker=Marker.PENDING),)

    order = order_for(remote, model_port, "")
    report = claude_pod.run(replace(order, tasks=(task,), plan=plan))

    assert claude_pod.result.outcome is Outcome.SUCCESS, claude_pod.log
    assert remote.head(BRANCH) == claude_pod.result.commit
    assert set(subtask["files"]) <= set(remote.files(BRANCH))
    assert report.usage.turns >= 4
    assert report.usage.output_tokens > 100
    assert report.usage.cost_usd
    assert "Write: " in claude_pod.log
    home = b"".join(
        file.read_bytes() for file in (claude_pod.root / "home").rglob("*") if file.is_file()
    )
    assert KEY.encode() not in home + claude_pod.log.encode()


def test_fault_that_the_cli_survives_leaves_its_own_word_as_the_outcome(
    claude_pod: Pod, remote: Remote, model_port: int
):
    behaviour = "overloaded after=1 times=1\ndemo-model: blocked Which key?"

    claude_pod.run(order_for(remote, model_port, f"demo-model: {behaviour}"))

    assert claude_pod.result.outcome is Outcome.BLOCKED, claude_pod.log
    assert remote.head(BRANCH) is not None


def test_report_tells_when_the_program_first_asked_its_model(
    claude_pod: Pod, remote: Remote, model_port: int
):
    phases = claude_pod.run(order_for(remote, model_port, "demo-model: blocked Which key?")).phases

    assert phases["agentStarted"] < phases["modelAsked"] < phases["agentEnded"]


@pytest.mark.parametrize(
    ("budget", "want"),
    [
        pytest.param(Budget(max_tokens=45_000), "maxTokens", id="tokens"),
        pytest.param(Budget(max_cost_usd="0.15"), "maxCostUSD", id="US dollars"),
    ],
)
def test_agent_whose_budget_is_used_up_ends_as_that_and_not_as_a_failure_of_its_own(
    claude_pod: Pod, remote: Remote, model_port: int, budget: Budget, want: str
):
    order = order_for(remote, model_port, "demo-model: endless", max_turns=5)

    report = claude_pod.run(replace(order, budget=budget))

    assert claude_pod.result.outcome is Outcome.BUDGET_EXCEEDED, claude_pod.log
    assert claude_pod.result.message == (
        f"The budget of this episode is used up; raise spec.budget.{want} of the WorkPackage."
    )
    assert report.usage.turns >= 1
    assert claude_pod.result.usage == report.usage


def test_model_without_a_price_is_a_matter_of_the_class_where_the_budget_is_money(
    claude_pod: Pod, remote: Remote, model_port: int
):
    prices = (replace(PRICE, model="other-*"),)
    order = order_for(remote, model_port, "demo-model: idle", pricing=prices)

    claude_pod.run(replace(order, budget=Budget(max_cost_usd="5")))

    assert claude_pod.result.outcome is Outcome.CONFIG, claude_pod.log
    assert claude_pod.result.message == (
        'The model "claude-sonnet-4-5" has no price, so spec.budget.maxCostUSD of the WorkPackage '
        "cannot be enforced; add the model to spec.pricing of the AgentClass."
    )


def test_three_subtasks_are_done_in_one_conversation_with_turns_and_usage_of_their_own(
    claude_pod: Pod, remote: Remote, model_port: int
):
    order = order_for(remote, model_port, "", max_turns=3)
    prompts = [f"demo-model: shell echo {word} > {word}.txt" for word in ("one", "two", "three")]

    with recording(model_port) as (port, asked):
        endpoint = f"http://127.0.0.1:{port}"
        order = replace(order, agent=replace(order.agent, endpoint=endpoint))
        report = claude_pod.run(batch_of(order, *prompts))

    assert [result.outcome for result in report.results] == [Outcome.SUCCESS] * 3, claude_pod.log
    assert remote.files(BRANCH)[-3:] == ["one.txt", "three.txt", "two.txt"]
    # The last request of each subtask holds all that was said before, and no brief twice.
    mentions = [
        [body.count(f"echo {word} >") for word in ("one", "two", "three")] for body in asked
    ]
    assert mentions[0][1:] == [0, 0]
    assert all(count > 0 for count in mentions[-1])
    usages = [result.usage for result in report.results]
    assert [usage and usage.turns for usage in usages] == [2, 2, 2]
    assert report.usage.turns == 6
    assert report.usage.input_tokens == sum(usage.input_tokens for usage in usages if usage)


def test_one_subtask_leaves_no_conversation_in_the_home(
    claude_pod: Pod, remote: Remote, model_port: int
):
    claude_pod.run(order_for(remote, model_port, "demo-model: shell echo one > one.txt"))

    assert claude_pod.result.outcome is Outcome.SUCCESS, claude_pod.log
    assert list((claude_pod.root / "home/agent").rglob("*.jsonl")) == []


def test_hint_comes_after_the_first_answer_where_hints_are_frequent(
    claude_pod: Pod, remote: Remote, model_port: int
):
    claude_pod.put("/afresh/token/token", "a-projected-token")
    go_on = claude_pod.root / "home/agent/go-on"
    prompt = f"demo-model: shell while [ ! -e {go_on} ]; do sleep 0.02; done; echo > one.txt"

    def wait(started: Started) -> None:
        started.wait_for(lambda: any(report.usage.turns for _, report in got))
        go_on.write_text("")

    with listening() as (place, got):
        order = replace(order_for(remote, model_port, prompt), **place, hint_seconds=9)
        report = claude_pod.run(order, wait)

    assert claude_pod.result.outcome is Outcome.SUCCESS, claude_pod.log
    # Where the program takes long to start, one hint is due before there is anything to tell.
    first = next(report for _, report in got if report.usage.turns)
    last = got[-1][1]
    assert (first.final, first.stage, first.usage.turns, first.results) == (False, "agent", 1, ())
    assert last == report


def test_missing_key_is_named_and_no_agent_is_started(
    claude_pod: Pod, remote: Remote, model_port: int
):
    (claude_pod.root / "afresh/secrets/model/api-key").unlink()

    report = claude_pod.run(order_for(remote, model_port, "demo-model: idle"))

    assert claude_pod.result.outcome is Outcome.CONFIG, claude_pod.log
    assert claude_pod.result.message == (
        'Secret "anthropic" in namespace "team-a" is missing or has no key "api-key"; '
        "create it or correct spec.credentials.secretName of the AgentClass."
    )
    assert "agentStarted" not in report.phases


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(
            '{"type":"result","subtype":"x","is_error":true,"result":"\\ud800"}',
            id="half a surrogate pair",
        ),
        pytest.param('{"a":' * 100_000, id="a line that is nested too deeply"),
    ],
)
def test_program_that_prints_what_cannot_be_kept_has_failed_and_counts(
    pod: Pod, remote: Remote, model_port: int, line: str
):
    pod.put("/afresh/secrets/model/api-key", KEY)
    pod.put("/line", line + "\n")
    program = pod.put("/bin/claude", f"#!/bin/sh\ncat {pod.root}/line\nexit 1\n")
    program.chmod(0o755)
    pod.image_environment = {"PATH": f"{program.parent}:{os.environ['PATH']}"}

    pod.run(order_for(remote, model_port, "demo-model: idle"))

    assert pod.result.outcome is Outcome.AGENT_ERROR, pod.log


def test_image_without_the_program_is_a_matter_of_configuration(
    pod: Pod, remote: Remote, model_port: int
):
    pod.put("/afresh/secrets/model/api-key", KEY)

    pod.run(order_for(remote, model_port, "demo-model: idle"))

    assert pod.result.outcome is Outcome.CONFIG, pod.log
    assert "cannot run the program claude" in pod.result.message


def test_turns_are_kept_where_there_is_no_gateway(claude_pod: Pod, remote: Remote, model_port: int):
    claude_pod.put("/afresh/secrets/model/ANTHROPIC_API_KEY", KEY)
    claude_pod.image_environment["ANTHROPIC_API_KEY"] = KEY
    order = order_for(remote, model_port, "demo-model: endless", max_turns=2)
    agent = replace(order.agent, credentials_mode=CredentialsMode.ENVIRONMENT)

    claude_pod.run(replace(order, agent=agent))

    assert claude_pod.result.outcome is Outcome.TURN_LIMIT, claude_pod.log

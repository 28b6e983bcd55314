"""An agent that is alive and does nothing is ended where its class says so, and no other is."""

import os
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from afresh.contract.order import Agent, Order
from afresh.contract.words import AdapterName, CredentialsMode, Outcome
from afresh.episode.container.questions import IdleQuestion, changed_since
from afresh.episode.container.watch import AgentWatch
from tests.episode.lone_runner import LoneRunner
from tests.episode.pod import Pod, make_order, wait_until
from tests.episode.servers import Remote, serving
from tests.episode.test_limits import SlowToStop, is_over_before_its_container

KEY = "sk-test-0123456789abcdef0123456789"
WORK = "echo hello > hello.txt"
MOMENT = 1_000_000_000
# Asks once as a program would, and says nothing until it has the answer.
ASKS = f"""#!{sys.executable}
import json, os, urllib.request
message = {{"role": "user", "content": "demo-model: blocked Which key?"}}
body = {{"model": "claude-x", "max_tokens": 99, "messages": [message]}}
request = urllib.request.Request(
    os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages", json.dumps(body).encode(),
    {{"Content-Type": "application/json"}},
)
urllib.request.urlopen(request).read()
open("hello.txt", "w").write("hello")
print(json.dumps({{"type": "result", "subtype": "success", "is_error": False}}))
"""


@pytest.fixture
def slow_model(tmp_path: Path) -> Iterator[int]:
    key = tmp_path / "api-key"
    key.write_text(KEY)
    arguments = ("--api-key-file", str(key), "--delay", "7")
    with serving("tools.fakemodel.model_server", *arguments, log=tmp_path / "model-log") as port:
        yield port


def idle_after(seconds: int, order: Order) -> Order:
    return replace(order, agent=replace(order.agent, idle_seconds=seconds))


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("sleep 100", id="from the start"),
        pytest.param(f"echo begun; {WORK}; sleep 100", id="after it has worked"),
        pytest.param("while :; do :; done", id="busy with nothing"),
        pytest.param("trap '' TERM; sleep 100 & wait; sleep 100", id="deaf to being told"),
    ],
)
def test_agent_that_shows_no_sign_of_life_is_ended(pod: Pod, remote: Remote, script: str):
    pod.run(idle_after(1, make_order(remote.url, script)))

    assert pod.result.outcome is Outcome.TIMEOUT, pod.log
    assert pod.result.message == (
        "Raise spec.idleSeconds of the AgentClass, or find with afresh logs where the agent hangs: "
        "it showed no activity for that long."
    )
    assert f"ending the agent: {pod.result.message}" in pod.log


@pytest.mark.parametrize(
    "step",
    [
        pytest.param("printf .", id="output, and be it no whole line"),
        pytest.param(
            "mkdir -p deep/er; touch -d 2001-01-01 deep/er/old", id="files of an old date"
        ),
        pytest.param("mkdir -p $HOME/.cache; echo $i > $HOME/.cache/tests", id="files of HOME"),
        pytest.param("touch gone; rm gone", id="files that it removes"),
    ],
)
def test_agent_that_shows_signs_of_life_is_let_alone_for_longer_than_that(
    pod: Pod, remote: Remote, step: str
):
    script = f"for i in 1 2 3 4 5 6 7; do {step}; sleep 1; done; {WORK}"

    pod.run(idle_after(5, make_order(remote.url, script)))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log


def test_agent_that_waits_for_a_slow_model_is_let_alone_for_longer_than_that(
    pod: Pod, remote: Remote, slow_model: int
):
    program = pod.put("/bin/claude", ASKS)
    program.chmod(0o755)
    pod.put("/afresh/secrets/model/api-key", KEY)
    pod.image_environment |= {"PATH": f"{program.parent}:{os.environ['PATH']}"}
    agent = Agent(
        adapter=AdapterName.CLAUDE,
        endpoint=f"http://127.0.0.1:{slow_model}",
        credentials_mode=CredentialsMode.GATEWAY,
        secret_name="model",
    )

    report = pod.run(idle_after(5, make_order(remote.url, "", agent=agent)))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert report.usage.turns == 1


def test_agent_of_a_class_that_names_no_limit_is_let_alone(pod: Pod, remote: Remote):
    pod.run(make_order(remote.url, f"sleep 2; {WORK}"))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log


def test_watch_that_stops_the_container_is_not_over_before_that_is_done(
    runner: LoneRunner, tmp_path: Path
):
    control = SlowToStop(tmp_path / "control")
    context = replace(runner.context, agent_control=control)
    watch = AgentWatch(context, [IdleQuestion(context, seconds=0.1)])

    assert not is_over_before_its_container(watch, control)
    assert watch.verdict


def test_changes_are_dated_by_the_kernel_and_not_by_who_makes_them(tmp_path: Path):
    file = tmp_path / "folder" / "file"
    file.parent.mkdir()
    file.touch()
    os.utime(file, (MOMENT, MOMENT))
    long_ago = changed_since(MOMENT, tmp_path)
    os.utime(file, (MOMENT * 4, MOMENT * 4))

    assert long_ago
    assert long_ago > MOMENT
    assert changed_since(time.time() + 60, tmp_path, tmp_path / "gone") is None


def test_links_are_not_followed(tmp_path: Path):
    watched, elsewhere = tmp_path / "watched", tmp_path / "elsewhere"
    watched.mkdir()
    (watched / "link").symlink_to(elsewhere)
    before = watched.lstat().st_ctime
    wait_until(lambda: time.time() > before + 0.1)
    elsewhere.mkdir()
    (elsewhere / "file").touch()

    assert changed_since(before + 0.05, elsewhere)
    assert changed_since(before + 0.05, watched) is None

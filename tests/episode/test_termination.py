"""What is reported and what is left when the pod is told to end, or a container vanishes."""

import json
import os
import signal
import time

import pytest

from afresh.contract.order import Verify
from afresh.contract.words import Marker, Outcome
from tests.episode.pod import Pod, Started, make_order, make_task, wait_until
from tests.episode.report_endpoint import listening
from tests.episode.servers import Remote, git
from tests.stopped_process import state_of, stopped

BRANCH = "afresh/demo"
BUSY = "trap '' TERM; echo working; touch $HOME/working; while :; do sleep 0.1; done"
WORK = "echo hello > hello.txt"


def test_term_while_the_agent_works_is_reported_at_once_and_leaves_nothing(
    pod: Pod, remote: Remote
):
    pod.put("/afresh/token/token", "a-projected-token")
    at_the_end: list[bool] = []

    def terminate(started: Started) -> None:
        started.wait_for((pod.root / "home/agent/working").exists)
        started.terminate()
        started.wait_for(lambda: pod.report.final)
        at_the_end.append(started.runner.poll() is None)

    with listening() as (place, got):
        report = pod.run(make_order(remote.url, BUSY, **place), terminate)

    assert pod.result.outcome is Outcome.INFRASTRUCTURE
    assert (
        pod.result.message == "The runner was asked to stop; another episode starts automatically."
    )
    assert pod.exit_code == 1
    assert at_the_end == [True]  # it stays after its report, or the kubelet would lose it
    assert got == [("Bearer a-projected-token", report)]


@pytest.mark.parametrize(
    ("script", "command"),
    [
        pytest.param(f"{WORK}; touch $HOME/working; sleep 600", "true", id="agent works"),
        pytest.param(
            f"{WORK}; touch $HOME/working; echo Why? > .afresh/outbox/blocked.md; sleep 600",
            "true",
            id="agent is about to say that it is blocked",
        ),
        pytest.param(WORK, "touch $HOME/working; sleep 600", id="acceptance command runs"),
    ],
)
def test_term_leaves_no_trace_of_a_failure_on_the_remote_that_the_report_does_not_tell(
    script: str, command: str, pod: Pod, remote: Remote
):
    verify = Verify(command=("sh", "-c", command))
    task = make_task(verify=verify, marker_on_failure=Marker.SKIPPED)
    before = git(remote.directory, "for-each-ref")

    def terminate(started: Started) -> None:
        started.wait_for(lambda: any(pod.root.glob("home/*/working")))
        started.terminate()

    pod.run(make_order(remote.url, script, tasks=(task,)), terminate)

    assert pod.result.outcome is Outcome.INFRASTRUCTURE, pod.log
    assert git(remote.directory, "for-each-ref") == before


def test_term_before_the_agents_container_is_there_is_reported(pod: Pod, remote: Remote):
    pod.shell = ("sh", "-c", "sleep 600")  # an image that is still being pulled

    def terminate(started: Started) -> None:
        started.wait_for(lambda: "prepared" in pod.written)
        started.terminate()
        for shim in started.shims:
            shim.kill()

    pod.run(make_order(remote.url, WORK), terminate)

    assert pod.result.outcome is Outcome.INFRASTRUCTURE
    assert pod.exit_code == 1


def test_runner_that_is_killed_takes_its_containers_with_it_and_leaves_a_provisional_report(
    pod: Pod, remote: Remote
):
    def kill(started: Started) -> None:
        started.wait_for((pod.root / "home/agent/working").exists)
        started.runner.kill()

    report = pod.run(make_order(remote.url, BUSY), kill)

    assert not report.final
    assert report.stage == "agent"
    assert report.results == ()
    assert pod.shim_codes == [125, 125]


def test_agents_container_that_is_killed_is_noticed_and_reported(pod: Pod, remote: Remote):
    def kill(started: Started) -> None:
        started.wait_for((pod.root / "home/agent/working").exists)
        os.kill(started.first_process(0), signal.SIGKILL)

    pod.run(make_order(remote.url, BUSY), kill)

    assert pod.result.outcome is Outcome.AGENT_ERROR, pod.log
    assert pod.result.message.startswith("The agent's container was killed; ")


def test_verify_container_that_is_gone_is_a_matter_of_infrastructure(pod: Pod, remote: Remote):
    def kill(started: Started) -> None:
        started.wait_for((pod.root / "home/agent/working").exists)
        os.kill(started.first_process(1), signal.SIGKILL)
        pod.put("/home/agent/go-on", "")

    waiting = f"{WORK}; touch $HOME/working; while [ ! -e $HOME/go-on ]; do sleep 0.02; done"
    pod.run(make_order(remote.url, waiting), kill)

    assert pod.result.outcome is Outcome.INFRASTRUCTURE, pod.log
    assert remote.head(BRANCH) is None


@pytest.mark.parametrize("status", [200, 403])
def test_final_report_is_sent_to_the_operator_whatever_it_answers(
    pod: Pod, remote: Remote, status: int
):
    pod.put("/afresh/token/token", "a-projected-token")

    with listening(status) as (place, got):
        report = pod.run(make_order(remote.url, WORK, **place))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert got == [("Bearer a-projected-token", report)]
    assert ("answered the report with status 403" in pod.log) == (status == 403)


def test_operator_that_cannot_be_reached_changes_nothing(pod: Pod, remote: Remote):
    pod.run(make_order(remote.url, WORK, report_url="https://127.0.0.1:9/reports"))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert pod.exit_code == 0
    assert "the report did not reach the operator" in pod.log


def test_report_of_a_runner_that_stops_at_any_moment_is_whole_json(pod: Pod, remote: Remote):
    stages: set[str] = set()

    def watch(started: Started) -> None:
        process = started.runner
        while process.poll() is None:
            with stopped(process):
                wait_until(lambda: state_of(process.pid) in "TZ")
                if pod.written:
                    stages.add(json.loads(pod.written)["stage"])
            time.sleep(0.005)  # let it come a little further

    pod.run(make_order(remote.url, f"{WORK}; sleep 0.3; echo {'x' * 1500}"), watch)

    assert {"prepare", "agent"} <= stages
    assert pod.report.final

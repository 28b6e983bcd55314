"""Verify's container comes late, never, or goes: what the agent is paid for in between."""

import json
from pathlib import Path

import pytest

from afresh.contract.order import Order, Step, Verify
from afresh.contract.words import Outcome
from tests.episode.pod import Pod, Started, make_order, make_task
from tests.episode.servers import Remote, git

KEY = "0123456789abcdef"


def here(pod: Pod) -> Path:
    """A file that is there once verify's image is."""
    return pod.root / "image-is-here"


def order_for(pod: Pod, remote: Remote, *, check: str = "", setup: str = "") -> Order:
    """An order whose agent looks whether it was started too early."""
    look = f"test -e {here(pod)} || echo too early; echo begun; echo hello > hello.txt"
    verify = Verify(command=("true",), image="example.com/tools:1", check=check)
    return make_order(
        remote.url,
        look,
        tasks=(make_task(verify=verify),),
        setup=Step(command=("sh", "-c", setup)) if setup else None,
    )


def says(pod: Pod, line: str) -> bool:
    return line in pod.log.splitlines()


def is_at(pod: Pod, stage: str) -> bool:
    return bool(pod.written) and json.loads(pod.written)["stage"] == stage


@pytest.mark.parametrize("setup", ["", "echo set up"], ids=["without setup", "with setup"])
@pytest.mark.parametrize("check", ["", KEY], ids=["unchecked", "checked"])
def test_no_agent_begins_before_verifys_container_is_there(
    pod: Pod, remote: Remote, check: str, setup: str
):
    pod.is_verify_late = True

    def bring(started: Started) -> None:
        started.wait_for(lambda: is_at(pod, "containers") or says(pod, "begun"))
        assert not says(pod, "begun")
        here(pod).touch()
        started.bring_verify()

    pod.run(order_for(pod, remote, check=check, setup=setup), bring)

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert says(pod, "begun")
    assert not says(pod, "too early")


def test_runner_that_is_told_to_stop_before_verify_is_there_has_paid_for_no_agent(
    pod: Pod, remote: Remote
):
    pod.is_verify_late = True

    def stop(started: Started) -> None:
        started.wait_for(lambda: is_at(pod, "containers") or says(pod, "begun"))
        started.terminate()

    report = pod.run(order_for(pod, remote), stop)

    assert pod.result.outcome is Outcome.INFRASTRUCTURE, pod.log
    assert "agentStarted" not in report.phases
    assert not says(pod, "begun")


def test_verify_that_goes_before_the_agent_begins_costs_no_agent(pod: Pod, remote: Remote):
    order = order_for(pod, remote, setup=f"while ! test -e {here(pod)}; do sleep 0.02; done")

    def end(started: Started) -> None:
        shim = started.first_process(1)
        started.wait_for(Path(f"/proc/{shim}/fd/6").exists)  # its last FIFO
        started.shims[1].kill()
        started.shims[1].wait()
        here(pod).touch()

    report = pod.run(order, end)

    assert pod.result.outcome is Outcome.INFRASTRUCTURE, pod.log
    assert "agentStarted" not in report.phases
    assert not says(pod, "begun")


def test_verify_that_goes_while_the_agent_works_is_nobodys_failure(pod: Pod, remote: Remote):
    order = make_order(
        remote.url,
        f"echo begun; while ! test -e {here(pod)}; do sleep 0.02; done; echo hello > hello.txt",
    )

    def end(started: Started) -> None:
        started.wait_for(lambda: says(pod, "begun"))
        started.shims[1].kill()
        started.shims[1].wait()
        here(pod).touch()

    report = pod.run(order, end)

    assert pod.result.outcome is Outcome.INFRASTRUCTURE, pod.log
    assert "agentStarted" in report.phases
    assert pod.result.warnings == ()
    kept_files = git(
        remote.directory, "ls-tree", "-r", "--name-only", "refs/afresh/team-a/demo/T001"
    )
    assert "hello.txt" in kept_files.splitlines(), "what was paid for is lost"

"""An acceptance command whose program is not there pays for no agent."""

from pathlib import Path

import pytest

from afresh.contract.order import Order, Step, Verify
from afresh.contract.words import Outcome
from tests.episode.pod import Pod, make_order, make_task
from tests.episode.servers import Remote

KEY = "0123456789abcdef"
WORK = "echo worked; echo hello > hello.txt"


def order_for(remote: Remote, *command: str, setup: str = "") -> Order:
    given = Verify(command=command, image="example.com/tools:1", check=KEY)
    return make_order(
        remote.url,
        WORK,
        tasks=(make_task(verify=given),),
        setup=Step(command=("sh", "-c", setup)) if setup else None,
    )


def has_worked(pod: Pod) -> bool:
    return "worked" in pod.log.splitlines()


def tools(pod: Pod) -> Path:
    """A folder on the PATH of the image, empty at first."""
    folder = pod.root / "tools"
    folder.mkdir(parents=True)
    pod.image_environment["PATH"] = f"/usr/bin:/bin:{folder}"
    return folder


@pytest.mark.parametrize("setup", ["", "true"], ids=["without setup", "after setup"])
@pytest.mark.parametrize("shell", ["dash", "bash"])
def test_program_that_the_image_does_not_have_is_named_and_no_agent_starts(
    pod: Pod, remote: Remote, setup: str, shell: str
):
    pod.shell = (shell, *(("--posix",) if shell == "bash" else ()))

    pod.run(order_for(remote, "no-such-program", "test", setup=setup))

    assert (pod.result.outcome, has_worked(pod)) == (Outcome.CONFIG, False), pod.log
    assert '"no-such-program" is not on the PATH of example.com/tools:1.' in pod.result.message
    assert pod.report.programs == ()


def test_program_that_is_there_is_reported_and_the_agent_starts(pod: Pod, remote: Remote):
    pod.run(order_for(remote, "test", "-e", "hello.txt"))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert has_worked(pod)
    assert pod.report.programs == (KEY,)


def test_program_that_setup_installs_is_there(pod: Pod, remote: Remote):
    folder = tools(pod)
    accept = folder / "accept"
    setup = f"printf '#!/bin/sh\\n' > {accept}; chmod +x {accept}"

    pod.run(order_for(remote, "accept", setup=setup))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert pod.report.programs == (KEY,)


def test_program_in_a_folder_of_the_checkout_may_be_what_the_subtask_makes(
    pod: Pod, remote: Remote
):
    checkout = pod.root / "afresh/checkout"
    pod.image_environment["PATH"] = f"/usr/bin:/bin:{checkout}/bin"
    made = "mkdir bin; printf '#!/bin/sh\\n' > bin/accept; chmod +x bin/accept"

    order = make_order(
        remote.url, made, tasks=(make_task(verify=Verify(command=("accept",), check=KEY)),)
    )
    pod.run(order)

    assert pod.result.outcome is Outcome.SUCCESS, pod.log


def test_program_is_not_looked_for_where_no_check_is_ordered(pod: Pod, remote: Remote):
    pod.run(make_order(remote.url, WORK, tasks=(make_task(verify=Verify(command=("nothing",))),)))

    assert pod.result.outcome is Outcome.VERIFY_FAILED, pod.log
    assert has_worked(pod)

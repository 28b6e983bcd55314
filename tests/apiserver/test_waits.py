"""`afresh wait` on a real API server: the end of a package, and an exit code for each."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from afresh.cli.look.collection import Collection
from afresh.cli.look.live_lists import Live
from afresh.cli.look.wait import outcome
from afresh.cli.looks import Awaited, WaitLook
from afresh.cli.requests import Target
from afresh.kube.client import Kube
from afresh.kube.resources import WORK_PACKAGES
from tests.api.manifests import entry
from tests.apiserver.commands import Afresh, apply, set_status
from tests.apiserver.kubectl import Kubectl

pytestmark = pytest.mark.apiserver
BACKGROUND = 240

OUTCOMES = [
    pytest.param("Succeeded", (), 0, id="succeeded"),
    pytest.param("NeedsReview", (), 3, id="a person is to look"),
    pytest.param("Failed", (), 4, id="failed"),
    pytest.param("Stalled", (), 5, id="stalled"),
    pytest.param("Running", ("--timeout", "1s"), 124, id="the time is over"),
    pytest.param("Stalled", ("--for", "Stalled"), 0, id="a stall that is awaited"),
    pytest.param("NeedsReview", ("--for", "NeedsReview"), 0, id="a person who is awaited"),
    pytest.param("Succeeded", ("--for", "Failed"), 7, id="succeeded though not awaited"),
]


@pytest.mark.parametrize(("phase", "words", "want"), OUTCOMES)
def test_wait_ends_with_an_exit_code_for_each_outcome(
    phase: str, words: tuple[str, ...], want: int, afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1"))
    set_status(kubectl, namespace, phase)

    done = afresh("wait", "demo", *words, "-o", "json")

    output = json.loads(done.stdout)
    assert (done.returncode, done.stderr) == (want, "")
    assert (output["phase"], output["timedOut"]) == (phase, want == 124)


def test_wait_takes_no_phase_for_an_answer_that_is_about_what_was_asked_before(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1"))
    set_status(kubectl, namespace, "Succeeded")
    apply(kubectl, namespace, entry("T1", revision=1))

    early = afresh("wait", "demo", "--timeout", "1s")
    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(afresh, "wait", "demo")
        set_status(kubectl, namespace, "NeedsReview")
        late = waiting.result(BACKGROUND)

    assert early.returncode == 124
    assert (late.returncode, late.stdout) == (
        3,
        "demo is NeedsReview, 0/1 done: It is NeedsReview.\n",
    )


@pytest.mark.parametrize(("awaited", "want"), [(Awaited.SUCCEEDED, 6), (Awaited.DELETED, 0)])
async def test_wait_notices_that_the_package_is_deleted(
    awaited: Awaited, want: int, kubeconfig: Path, kubectl: Kubectl, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1"))
    set_status(kubectl, namespace, "Running")
    look = WaitLook(target=Target(package="demo"), awaited=awaited)
    collection = Collection(WORK_PACKAGES, namespace, "metadata.name=demo")
    kube = await Kube.connect(str(kubeconfig))

    try:
        async with Live(kube, [collection]) as live:
            waiting = asyncio.create_task(outcome(look, live, collection, None))
            await asyncio.to_thread(kubectl, "delete", "wp", "demo", "-n", namespace)
            code = await asyncio.wait_for(waiting, BACKGROUND)
    finally:
        await kube.close()

    assert code == want


def test_wait_for_a_package_that_is_not_there_is_an_error_unless_it_is_to_be_gone(
    afresh: Afresh, namespace: str
) -> None:
    missing = afresh("wait", "demo")
    gone = afresh("wait", "demo", "--for", "Deleted")

    assert (missing.returncode, gone.returncode) == (1, 0)
    assert f"There is no WorkPackage demo in the namespace {namespace};" in missing.stderr

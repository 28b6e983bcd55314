"""What `/healthz` says when a part of the operator is stuck: each part is made to be."""

import asyncio
import time
import urllib.error
import urllib.request
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import structlog
import yaml

from afresh.kube import handlers
from afresh.kube.async_scopes import serving
from afresh.kube.cache import Cache
from afresh.kube.client import Kube
from afresh.kube.errors import NotLeaderError, UnavailableError
from afresh.kube.ha.leadership import leading
from afresh.kube.handlers import EventRouter
from afresh.kube.health import Health
from afresh.kube.heartbeat import heartbeat
from afresh.kube.listener import Limits, Listener
from afresh.kube.queue import KeyQueue
from afresh.kube.report_keys import ReportKeys
from afresh.kube.resources import WORK_PACKAGES
from afresh.kube.resync import Resync
from afresh.settings import Settings
from tests.apiserver.account import NAME, RELEASE_NAMESPACE, grant, rendered, token
from tests.apiserver.gate import Gate, gate_to, nothing
from tests.apiserver.kubectl import Kubectl
from tests.apiserver.operator_process import OperatorProcess, free_port
from tests.apiserver.story import PATIENCE, apply, chain, holds

pytestmark = pytest.mark.apiserver
HASTY = """
import asyncio, os
from afresh import logs
from afresh.kube.operator import run
from afresh.settings import Settings
logs.configure(level="INFO", form="json")
asyncio.run(run(Settings.from_environment(os.environ), stuck_seconds=1))
"""


@pytest.fixture
async def gate(kubeconfig: Path) -> AsyncIterator[Gate]:
    async with gate_to(_server_of(kubeconfig)) as gate:
        yield gate


def _server_of(kubeconfig: Path) -> str:
    server: str = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"]
    return server


@pytest.fixture
def through_the_gate(
    gate: Gate, kubectl: Kubectl, kubeconfig: Path, helm: Path, namespace: str, tmp_path: Path
) -> Path:
    """Return the kubeconfig of an operator that reaches the API server through the gate."""
    grant(kubectl, rendered(helm, f"namespaces={{{namespace}}}", "replicas=2"))
    return token(kubectl, kubeconfig, tmp_path, gate.url).kubeconfig


@pytest.fixture
def as_operator(through_the_gate: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have parts of the operator in this process find its kubeconfig."""
    monkeypatch.setenv("KUBECONFIG", str(through_the_gate))
    # The client reads the variable once, when it is imported.
    place = "kubernetes.aio.config.kube_config.KUBE_CONFIG_DEFAULT_LOCATION"
    monkeypatch.setattr(place, str(through_the_gate))


async def test_a_step_without_end_is_named_with_its_package(
    gate: Gate, through_the_gate: Path, kubectl: Kubectl, namespace: str, tmp_path: Path
) -> None:
    operator = OperatorProcess(through_the_gate, namespace, tmp_path / "log", program=("-c", HASTY))
    operator.start()
    try:
        await holds("it is ready", lambda: operator.probe("/readyz") == (200, "ok\n"))
        well = operator.probe("/healthz")
        gate.holds = lambda request: request.method == "POST" and "subtasks" in request.path
        apply(kubectl, namespace, chain(1))
        await holds("it is unwell", lambda: operator.probe("/healthz")[0] == 503)
        stuck = operator.probe("/healthz")
        gate.holds = nothing
        await holds("it is well again", lambda: operator.probe("/healthz") == well)
    finally:
        operator.kill()

    assert well == (200, "ok\n")
    assert stuck == (503, f"a step for the package {namespace}/p takes more than 1 s\n")


async def test_an_operator_that_cannot_list_is_alive_but_not_ready(
    gate: Gate, through_the_gate: Path, namespace: str, tmp_path: Path
) -> None:
    gate.holds = lambda request: "networkpolicies" in request.path
    operator = OperatorProcess(through_the_gate, namespace, tmp_path / "log")
    operator.start()
    try:
        await holds("it lists", lambda: gate.held)
        answers = operator.probe("/healthz"), operator.probe("/readyz")
        gate.holds = nothing
        await holds("it is ready", lambda: operator.probe("/readyz") == (200, "ok\n"))
    finally:
        operator.kill()

    assert answers == ((200, "ok\n"), (503, "the first list of all objects is not complete\n"))


async def test_a_watch_without_the_changes_of_a_list_is_named_until_it_reports_them_or_lists_fail(
    gate: Gate, as_operator: None, kubectl: Kubectl, namespace: str
) -> None:
    kube, cache, stop = await Kube.connect(), Cache(), asyncio.Event()
    router = EventRouter(cache, KeyQueue(), KeyQueue())
    resync = Resync(kube=kube, cache=cache, router=router, namespaces=(namespace,))
    await resync.fill()
    watching = asyncio.create_task(handlers.watch(router, namespaces=(namespace,), stop=stop))
    try:
        apply(kubectl, namespace, chain(1))
        await holds("the watch tells", lambda: cache.get(WORK_PACKAGES, namespace, "p"))
        await resync.sweep()
        await holds("the watches owe nothing", lambda: not router.watch_lag.owes())
        gate.mutes = lambda request: "workpackages" in request.path
        kubectl("label", "wp", "p", "-n", namespace, "seen=no")
        await holds("the watch is muted", lambda: gate.muted)
        await resync.sweep()
        first = router.watch_lag.late(seconds=0)
        await resync.sweep()
        stuck = router.watch_lag.late(seconds=0)
        patient = router.watch_lag.late()
        gate.refuses = lambda request: "workpackages" in request.path
        with pytest.raises(UnavailableError):
            await resync.sweep()
        excused = router.watch_lag.late(seconds=0)
        gate.mutes = gate.refuses = nothing
        kubectl("label", "wp", "p", "-n", namespace, "seen=yes", "--overwrite")
        await holds("the watch tells", lambda: not router.watch_lag.owes())
    finally:
        stop.set()
        await watching
        await kube.close()

    assert (first, patient, excused) == (None, None, None)
    assert stuck == "the watch of workpackages does not report changes that a list has shown"


async def test_a_leader_that_cannot_renew_stops_writing_and_one_that_does_not_end_is_stuck(
    gate: Gate, as_operator: None
) -> None:
    settings = Settings(
        runner_image="i", report_url=None, report_port=free_port(), lease_name=NAME,
        pod_ip="127.0.0.1",
    )  # fmt: skip
    kube, health, stop = await Kube.connect(), Health(), asyncio.Event()
    keys, port = ReportKeys(kube, None), free_port()
    await keys.open()
    async with (
        serving(_probes(health), port),
        leading(settings, kube, keys, health=health, stop=stop) as tenure,
    ):
        leads = kube.write_seconds() > 0
        well = await _ask(port, "/healthz")
        gate.holds = lambda request: "leases" in request.path
        await asyncio.wait_for(stop.wait(), PATIENCE)
        with pytest.raises(NotLeaderError):
            await kube.create(WORK_PACKAGES, RELEASE_NAMESPACE, {})
        lost = tenure.lost
        await holds("it is stuck", lambda: any(check() for check in health.checks))
        stuck = await _ask(port, "/healthz")
        gate.holds = nothing
    await kube.close()

    assert (leads, lost, well) == (True, True, (200, "ok\n"))
    assert stuck == (
        503, "the Lease was not renewed in time, and the operator has not ended\n"
    )  # fmt: skip


async def test_an_event_loop_that_is_held_up_answers_no_probe_and_the_log_says_where() -> None:
    port, probes = free_port(), _probes(Health())
    with structlog.testing.capture_logs() as logs:
        async with serving(probes, port), heartbeat(held_up_seconds=0.2):
            well = await _ask(port, "/healthz")
            with ThreadPoolExecutor(1) as pool:
                asked = pool.submit(_probe, port, "/healthz", seconds=0.5)
                _hold_up(lambda: asked.done() and _named(logs))
                held_up = asked.result()

    assert (well, held_up) == ((200, "ok\n"), (0, "no answer"))
    assert _named(logs)
    assert {line["event"] for line in logs} == {"event_loop_held_up"}


def _probes(health: Health) -> Listener:
    return Listener(health.routes(), Limits(), name="metrics")


def _hold_up(is_enough: Callable[[], bool]) -> None:
    """Do what no coroutine may: keep the event loop."""
    deadline = time.monotonic() + PATIENCE
    while not is_enough() and time.monotonic() < deadline:
        time.sleep(0.1)


def _named(logs: list[structlog.typing.EventDict]) -> bool:
    """Whether the log says that it is `_hold_up` that keeps the event loop."""
    return any(_hold_up.__name__ in line["at"] for line in logs)


async def _ask(port: int, path: str) -> tuple[int, str]:
    """Ask a probe from a thread, as the kubelet does from another process."""
    return await asyncio.to_thread(_probe, port, path)


def _probe(port: int, path: str, seconds: float = 120) -> tuple[int, str]:
    """Return the status and the text; 0 without an answer."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=seconds) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()
    except OSError:
        return 0, "no answer"

"""Two operators with one Lease, as the chart runs them: one works, and they never both write."""

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from afresh.kube.client import Kube
from afresh.kube.resources import LEASES
from tests.apiserver.account import (
    NAME,
    RELEASE_NAMESPACE,
    REPORT_SECRET,
    Token,
    grant,
    rendered,
    token,
)
from tests.apiserver.audit import entries_of
from tests.apiserver.kubectl import Kubectl
from tests.apiserver.operator_process import OperatorProcess
from tests.apiserver.reporting import post
from tests.apiserver.story import PATIENCE, apply, chain, ended, holds, node_of

pytestmark = pytest.mark.apiserver
LEADING = '"event": "leading"'


@dataclass(frozen=True)
class Replica:
    """One of the operators, and the token that it uses."""

    process: OperatorProcess
    token: Token

    @property
    def leads(self) -> bool:
        return self.process.log.exists() and LEADING in self.process.log.read_text()


Start = Callable[[], Replica]


@pytest.fixture
def start(
    kubectl: Kubectl, kubeconfig: Path, helm: Path, namespace: str, tmp_path: Path
) -> Iterator[Start]:
    """Return what starts one operator more."""
    replicas: list[Replica] = []
    grant(kubectl, rendered(helm, f"namespaces={{{namespace}}}", "replicas=2"))

    def begin() -> Replica:
        known = token(kubectl, kubeconfig, tmp_path)
        process = OperatorProcess(
            known.kubeconfig, namespace, tmp_path / f"operator-{len(replicas)}.log",
            settings={
                "AFRESH_LEASE_NAME": NAME,
                "AFRESH_POD_IP": "127.0.0.1",
                "AFRESH_REPORT_SECRET": REPORT_SECRET,
            },
        )  # fmt: skip
        process.start()
        replicas.append(Replica(process, known))
        return replicas[-1]

    yield begin
    for replica in replicas:
        if replica.process.alive:
            replica.process.kill()


def master_metric(replica: Replica) -> str:
    """What its gauge says of whether it is the one that works."""
    lines = replica.process.probe("/metrics")[1].splitlines()
    (line_of_metric,) = (
        line for line in lines if line.startswith("leader_election_master_status{")
    )
    return line_of_metric.rpartition(" ")[2]


async def leader_and_standby(start: Start) -> tuple[Replica, Replica]:
    first = start()
    await holds("the first leads", lambda: first.leads)
    second = start()
    await holds("the second is ready", lambda: second.process.probe("/readyz")[0] == 200)
    assert not second.leads
    return first, second


async def test_an_operator_that_is_killed_is_followed_by_the_other_which_runs_nothing_twice(
    start: Start, kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    first, second = await leader_and_standby(start)
    apply(kubectl, namespace, chain(12))

    async with node_of(kubeconfig, namespace) as node:
        await holds("some of it is done", lambda: len(node.started) >= 3)
        first.process.kill()
        await holds("the other leads", lambda: second.leads)
        package = await ended(node.kube, namespace)

    assert [subtask for subtask, _ in node.started] == [f"T{n:03}" for n in range(12)]
    assert {item["attempts"] for item in package["status"]["subtasks"]} == {1}


async def test_a_leader_that_slept_beyond_its_lease_writes_nothing_more_and_ends(
    start: Start, kubectl: Kubectl, kubeconfig: Path, namespace: str, audit_log: Path
) -> None:
    first, second = await leader_and_standby(start)
    apply(kubectl, namespace, chain(12))

    async with node_of(kubeconfig, namespace) as node:
        await holds("some of it is done", lambda: len(node.started) >= 3)
        node.may_end.clear()
        await quiet(first, audit_log)
        with first.process.stopped():
            await holds("the other leads", lambda: second.leads)
            lease = await node.kube.get(LEASES, RELEASE_NAMESPACE, NAME)
            begun = len(node.started)
            node.may_end.set()
            await holds("the other goes on", lambda: len(node.started) > begun)
        status = await asyncio.to_thread(first.process.wait)
        package = await ended(node.kube, namespace)

    writes = [entry for entry in entries_of(audit_log) if entry.writes]
    by_the_first = [entry.time for entry in writes if entry.token == first.token.id]
    acquired = lease["spec"]["acquireTime"]
    late = [entry for entry in writes if entry.token == first.token.id and entry.time > acquired]
    by_the_second = [entry.time for entry in writes if entry.token == second.token.id]
    assert status == 1
    assert by_the_first
    assert late == []
    assert acquired < max(by_the_second)
    assert [subtask for subtask, _ in node.started] == [f"T{n:03}" for n in range(12)]
    assert {item["attempts"] for item in package["status"]["subtasks"]} == {1}


async def quiet(replica: Replica, audit_log: Path) -> None:
    """Return when it waits for the node: a write that is already on its way may come late."""

    def writes() -> int:
        entries = [entry for entry in entries_of(audit_log) if entry.token == replica.token.id]
        return sum(entry.writes and entry.use.resource != "leases" for entry in entries)

    before = -1
    async with asyncio.timeout(PATIENCE):
        while before != (before := writes()):
            await asyncio.sleep(1)


async def test_a_leader_that_is_asked_to_end_releases_its_lease(
    start: Start, kubeconfig: Path
) -> None:
    first, second = await leader_and_standby(start)

    masters = [master_metric(replica) for replica in (first, second)]
    status = first.process.stop()
    released = '"lease_lost"' not in first.process.log.read_text()
    await holds("the other leads", lambda: second.leads)
    ended_well = second.process.stop()
    kube = await Kube.connect(str(kubeconfig))
    lease = await kube.get(LEASES, RELEASE_NAMESPACE, NAME)
    await kube.close()

    assert masters == ["1.0", "0.0"]
    assert (status, ended_well, released) == (0, 0, True)
    assert lease["spec"]["holderIdentity"] == ""
    assert lease["spec"]["leaseTransitions"] == 1


async def test_a_report_that_reaches_a_standby_is_answered_by_the_leader(start: Start) -> None:
    first, second = await leader_and_standby(start)
    await holds("the leader is ready", lambda: first.process.probe("/readyz")[0] == 200)

    want = (401, '{"message": "the token does not belong to this episode\'s pod"}')
    answer = _report_to(first.process.report_port)
    # A standby waits for the leader's answer for no longer than a runner waits for its own.
    port = second.process.report_port
    await holds("the standby passes it on in time", lambda: _report_to(port) == want)
    with first.process.stopped():
        without = _report_to(port)

    assert answer == want
    assert without == (503, '{"message": "the leader does not answer"}')


def _report_to(port: int) -> tuple[int, str]:
    return post(port, '{"episode":"e","stage":"reported","version":1}', "no-such-token")

"""An operator for some namespaces, of which one is not there, is lost or comes back."""

import asyncio
import json
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from afresh.kube.cache import Cache
from afresh.kube.client import Kube
from afresh.kube.handlers import EventRouter
from afresh.kube.queue import Key, KeyQueue
from afresh.kube.resources import WORK_PACKAGES
from afresh.kube.resync import Resync
from tests.apiserver.account import NAME, REPORT_SECRET, grant, rendered, token
from tests.apiserver.kubectl import Kubectl
from tests.apiserver.operator_process import OperatorProcess
from tests.apiserver.story import PATIENCE, apply, chain, ended, holds, node_of

pytestmark = pytest.mark.apiserver


@dataclass(frozen=True)
class Place:
    """A namespace with the operator's rights in it, as the chart gives them."""

    kubectl: Kubectl
    name: str
    rights: tuple[dict[str, Any], ...]

    def make(self) -> None:
        """Create the namespace and the rights."""
        self.kubectl("create", "namespace", self.name)
        self.bind()

    def bind(self) -> None:
        """Give the rights."""
        for item in self.rights:
            self.kubectl("apply", manifest=item)

    def unbind(self) -> None:
        """Take them away, as whoever administers the namespace may."""
        self.kubectl("delete", "rolebinding", NAME, "-n", self.name)

    def remove(self) -> None:
        """Delete the namespace with what is in it, as the cluster's controllers do."""
        self.kubectl("delete", "wp", "--all", "-n", self.name)
        self.kubectl("delete", "rolebinding,role", NAME, "-n", self.name)
        self.kubectl.end_namespace(self.name)


@pytest.fixture
def place(kubectl: Kubectl, helm: Path, namespace: str) -> Place:
    """Return a namespace that is not there yet; the operator has its rights in the test's own."""
    name = f"{namespace}-late"
    everything = rendered(helm, f"namespaces={{{namespace},{name}}}")
    there = [item for item in everything if item["metadata"].get("namespace") == name]
    grant(kubectl, [item for item in everything if item not in there])
    return Place(kubectl, name, tuple(there))


async def test_a_namespace_that_is_not_there_is_left_out_until_it_is_and_again_once_it_is_gone(
    place: Place, kubectl: Kubectl, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    operator = OperatorProcess(
        token(kubectl, kubeconfig, tmp_path).kubeconfig,
        f"{namespace},{place.name}",
        tmp_path / "log",
        settings={"AFRESH_REPORT_SECRET": REPORT_SECRET},
    )
    operator.start()
    try:
        await holds("it is ready", lambda: operator.probe("/readyz")[0] == 200)
        async with node_of(kubeconfig, namespace) as node:
            node.may_end.clear()
            apply(kubectl, namespace, chain(2))
            await holds("an episode is started", lambda: node.started)
            place.make()
            apply(kubectl, place.name, chain(2))
            async with node_of(kubeconfig, place.name) as other:
                late = await ended(other.kube, place.name)
            begun = lines_of(operator)
            place.remove()
            node.may_end.set()
            package = await ended(node.kube, namespace)
        operator.kill()
        operator.start()
        await holds("it is ready again", lambda: operator.probe("/readyz")[0] == 200)
    finally:
        operator.kill()

    told = [line for line in lines_of(operator) if line["event"].startswith("namespace_")]
    assert [found["status"]["progress"] for found in (late, package)] == ["2/2", "2/2"]
    assert [(line["event"], line["level"]) for line in told[:2]] == [
        ("namespace_not_served", "warning"),
        ("namespace_served", "info"),
    ]
    # Once more if a list came before the operator was killed.
    assert {line["event"] for line in told[2:]} == {"namespace_not_served"}
    assert len(told) <= 4
    assert {line["namespace"] for line in told} == {place.name}
    assert not [line for line in begun if "will retry" in line["event"]]


def lines_of(operator: OperatorProcess) -> list[dict[str, Any]]:
    """What the operator has logged."""
    return [json.loads(line) for line in operator.log.read_text().splitlines()]


@dataclass(frozen=True)
class Lists:
    """The operator's lists, and what they fill."""

    resync: Resync
    cache: Cache
    queue: KeyQueue

    async def woken(self) -> set[Key]:
        """Return the packages that wait, and let none of them wait."""
        last, found = Key("", "last"), set[Key]()
        self.queue.add(last)
        async with asyncio.timeout(PATIENCE):
            while (key := await self.queue.get()) != last:
                self.queue.done(key)
                found.add(key)
        self.queue.done(last)
        return found


@pytest.fixture
async def lists(
    place: Place, kubectl: Kubectl, kubeconfig: Path, namespace: str, tmp_path: Path
) -> AsyncIterator[Lists]:
    place.make()
    kube = await Kube.connect(str(token(kubectl, kubeconfig, tmp_path).kubeconfig))
    cache, queue = Cache(), KeyQueue()
    router = EventRouter(cache, queue, KeyQueue())
    names = (place.name, namespace)
    yield Lists(Resync(kube=kube, cache=cache, router=router, namespaces=names), cache, queue)
    await kube.close()


async def test_rights_that_are_lost_in_one_namespace_leave_the_lists_of_others_as_they_are(
    lists: Lists, place: Place, kubectl: Kubectl, namespace: str
) -> None:
    cache, resync = lists.cache, lists.resync
    for name in (namespace, place.name):
        apply(kubectl, name, chain(1))
    await resync.fill()
    await taken_up(lists)
    before = cache.get(WORK_PACKAGES, place.name, "p")
    queued = await lists.woken()

    place.unbind()
    kubectl("delete", "wp", "p", "-n", namespace)
    await left_out(lists, place)
    lost = [cache.get(WORK_PACKAGES, name, "p") for name in (namespace, place.name)]
    await resync.take_up()
    still = set(cache.unlisted)
    await lists.woken()
    place.bind()
    await taken_up(lists)

    assert queued == {Key(namespace, "p"), Key(place.name, "p")}
    assert before is not None
    assert lost == [None, None]
    assert still == {place.name}
    assert cache.get(WORK_PACKAGES, place.name, "p") == before
    assert await lists.woken() == {Key(place.name, "p")}


async def left_out(lists: Lists, place: Place) -> None:
    """List until the API server has noticed that the rights are gone."""
    async with asyncio.timeout(PATIENCE):
        while place.name not in lists.cache.unlisted:
            await lists.resync.sweep()


async def taken_up(lists: Lists) -> None:
    """Try until it has noticed all rights that there are."""
    async with asyncio.timeout(PATIENCE):
        while lists.cache.unlisted:
            await lists.resync.take_up()

"""Collections that are followed on a real API server: no change is missed when a watch ends."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from afresh.cli.look import live_lists
from afresh.cli.look.collection import Collection
from afresh.cli.look.live_lists import Live
from afresh.kube.client import Kube
from afresh.kube.errors import RefusedError
from afresh.kube.resources import WORK_PACKAGES, Manifest, Resource
from tests.api.manifests import entry
from tests.apiserver.commands import apply, set_status, visitor
from tests.apiserver.kubectl import Kubectl

pytestmark = pytest.mark.apiserver
PATIENCE = 240


class Counting(Kube):
    """Counts how often something was listed."""

    lists = 0

    async def pages(
        self, resource: Resource, namespace: str | None, **selectors: str
    ) -> AsyncIterator[tuple[list[Manifest], int]]:
        self.lists += 1
        async for page in super().pages(resource, namespace, **selectors):
            yield page


async def until(live: Live, holds: Any) -> None:
    async with asyncio.timeout(PATIENCE):
        while not holds():
            await live.changed(1)


async def test_what_changes_before_and_after_the_end_of_a_watch_is_seen(
    kubeconfig: Path, kubectl: Kubectl, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_lists, "WATCH_SECONDS", 1)
    apply(kubectl, namespace, entry("T1"))
    packages = Collection(WORK_PACKAGES, namespace, "metadata.name=demo")
    kube = await Counting.connect(str(kubeconfig))

    def phase() -> str:
        return str(live.objects(packages)[0].get("status", {}).get("phase"))

    try:
        async with Live(kube, [packages]) as live:
            await asyncio.to_thread(set_status, kubectl, namespace, "Running")
            await until(live, lambda: phase() == "Running")
            before = kube.lists
            await until(live, lambda: kube.lists > before + 1)
            still = phase()
            await asyncio.to_thread(set_status, kubectl, namespace, "Succeeded")
            await until(live, lambda: phase() == "Succeeded")
            await asyncio.to_thread(kubectl, "delete", "wp", "demo", "-n", namespace)
            await until(live, lambda: not live.objects(packages))
    finally:
        await kube.close()

    assert still == "Running"


async def test_person_who_may_list_but_not_watch_gets_a_message(
    kubeconfig: Path, kubectl: Kubectl, namespace: str, tmp_path: Path
) -> None:
    theirs = visitor(
        kubectl, kubeconfig, namespace, tmp_path, "workpackages.afresh.dev", verbs="get,list"
    )
    kube = await Kube.connect(theirs)

    try:
        async with Live(kube, [Collection(WORK_PACKAGES, namespace)]) as live:
            with pytest.raises(RefusedError, match='cannot watch resource "workpackages"'):
                await until(live, lambda: False)
    finally:
        await kube.close()

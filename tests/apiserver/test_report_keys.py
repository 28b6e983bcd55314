"""The key of the report endpoint in its Secret: shared, kept, changed in time, and put back."""

import asyncio
import base64
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from afresh import clock
from afresh.kube import report_keys
from afresh.kube.certificate import make_key
from afresh.kube.client import Kube
from afresh.kube.report_keys import LIFE, ReportKeys
from tests.apiserver.account import NAME, RELEASE_NAMESPACE, REPORT_SECRET, grant, rendered, token
from tests.apiserver.kubectl import Kubectl, Manifest
from tests.apiserver.story import holds

pytestmark = pytest.mark.apiserver
EMPTIED = '{"data": null}'


@pytest.fixture
def objects(helm: Path, namespace: str) -> list[Manifest]:
    return rendered(helm, f"namespaces={{{namespace}}}", "replicas=2")


@pytest.fixture
async def kubes(kubectl: Kubectl, kubeconfig: Path, objects: list[Manifest], tmp_path: Path) -> Any:
    """Connections of four operators, with the chart's rights, and a Secret that is empty."""
    kubectl("delete", "secret", REPORT_SECRET, "-n", RELEASE_NAMESPACE, "--ignore-not-found")
    grant(kubectl, objects)
    known = token(kubectl, kubeconfig, tmp_path)
    connected = [await Kube.connect(str(known.kubeconfig)) for _ in range(4)]
    yield connected
    for kube in connected:
        await kube.close()


async def opened(kube: Kube, name: str | None = REPORT_SECRET) -> ReportKeys:
    keys = ReportKeys(kube, name)
    await keys.open()
    return keys


def data_of(kubectl: Kubectl) -> dict[str, str]:
    secret: dict[str, Any] = kubectl.get("secret", REPORT_SECRET, RELEASE_NAMESPACE)
    return secret.get("data") or {}


def patch(kubectl: Kubectl, merged: str) -> None:
    where = ("secret", REPORT_SECRET, "-n", RELEASE_NAMESPACE)
    kubectl("patch", *where, "--type=merge", "-p", merged)


def since(kubectl: Kubectl, age: timedelta) -> None:
    """Say that the keys are as old as that."""
    begun = encoded((clock.now() - age).isoformat())
    patch(kubectl, f'{{"data": {{"since": "{begun}"}}}}')


async def test_operators_that_start_at_once_agree_on_one_key_and_a_later_one_takes_it_too(
    kubes: list[Kube], kubectl: Kubectl
) -> None:
    first, second, third = await asyncio.gather(*(opened(kube) for kube in kubes[:3]))
    later = await opened(kubes[3])

    assert len({keys.pins() for keys in (first, second, third, later)}) == 1
    assert len(set(first.pins())) == 2
    assert sorted(data_of(kubectl)) == ["current", "following", "seal", "since"]


@pytest.mark.parametrize("server_side", [False, True], ids=["client-side", "server-side"])
async def test_applying_the_manifest_again_leaves_the_key_as_it_is(
    kubes: list[Kube], kubectl: Kubectl, objects: list[Manifest], server_side: bool
) -> None:
    before = await opened(kubes[0])
    (secret,) = [item for item in objects if item["kind"] == "Secret"]
    assert "data" not in secret
    labels = {**secret["metadata"]["labels"], "app.kubernetes.io/version": "next"}
    newer = {**secret, "metadata": {**secret["metadata"], "labels": labels}}
    how = ("--server-side", "--force-conflicts") if server_side else ()
    kubectl("apply", *how, manifest=newer)

    after = await opened(kubes[1])
    assert after.pins() == before.pins()


async def test_the_key_that_follows_an_old_one_is_the_one_that_orders_have_pinned(
    kubes: list[Kube], kubectl: Kubectl
) -> None:
    first = await opened(kubes[0])
    before, seal = first.pins(), first.seal()
    since(kubectl, LIFE - timedelta(days=1))
    young = (await opened(kubes[1])).pins()
    since(kubectl, LIFE + timedelta(days=1))
    changed = await asyncio.gather(*(opened(kube) for kube in kubes[1:]))

    assert young == before
    assert {keys.pins()[0] for keys in changed} == {before[1]}
    assert len({keys.pins() for keys in changed}) == 1
    assert {keys.seal() for keys in changed} == {seal}
    assert changed[0].pins()[1] not in before


async def test_keys_from_a_time_to_come_are_changed_like_old_ones(
    kubes: list[Kube], kubectl: Kubectl
) -> None:
    before = (await opened(kubes[0])).pins()
    since(kubectl, -LIFE - timedelta(days=1))

    assert (await opened(kubes[1])).pins()[0] == before[1]


async def test_a_certificate_before_its_key_is_a_spoilt_key_and_ends_no_operator(
    kubes: list[Kube], kubectl: Kubectl
) -> None:
    before = await opened(kubes[0])
    key, mark, rest = await make_key_parts()
    patch(kubectl, json.dumps({"data": {"current": encoded(mark + rest + key)}}))

    after = await opened(kubes[1])

    assert len(set(after.pins())) == 2
    assert not set(after.pins()) & set(before.pins())


async def make_key_parts() -> tuple[str, str, str]:
    return (await make_key()).partition("-----BEGIN CERTIFICATE-----")


def encoded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    "broken",
    [
        pytest.param(EMPTIED, id="emptied"),
        pytest.param('{"data": {"current": "bm90IGEga2V5"}}', id="no key"),
        pytest.param('{"data": {"since": "bmV2ZXI="}}', id="no time"),
    ],
)
async def test_a_secret_that_was_emptied_or_spoilt_gets_the_keys_back_that_orders_have_pinned(
    kubes: list[Kube], kubectl: Kubectl, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    keys = await opened(kubes[0])
    before, stored = keys.pins(), data_of(kubectl)
    patch(kubectl, broken)
    monkeypatch.setattr(report_keys, "LOOK_SECONDS", 0.05)
    keeping = asyncio.create_task(keys.keep())
    await holds("it is put back", lambda: data_of(kubectl) == stored)
    keeping.cancel()

    assert keys.pins() == before
    assert (await opened(kubes[1])).pins() == before


async def test_the_key_of_the_seals_stays_when_the_others_are_replaced(
    kubes: list[Kube], kubectl: Kubectl
) -> None:
    before = await opened(kubes[0])
    patch(kubectl, '{"data": {"current": null, "following": null}}')
    after = await opened(kubes[1])

    assert set(before.pins()).isdisjoint(after.pins())
    assert before.seal()
    assert before.seal() == after.seal()


async def test_an_operator_that_may_not_write_now_follows_the_one_that_does(
    kubes: list[Kube], kubectl: Kubectl, monkeypatch: pytest.MonkeyPatch
) -> None:
    standby = await opened(kubes[0])
    before = standby.pins()
    kubes[0].write_seconds = lambda: 0.0
    monkeypatch.setattr(report_keys, "LOOK_SECONDS", 0.05)
    keeping = asyncio.create_task(standby.keep())
    since(kubectl, LIFE + timedelta(days=1))
    leader = await opened(kubes[1])
    await holds("it follows", lambda: standby.pins() == leader.pins())
    keeping.cancel()

    assert standby.pins() == leader.pins() != before


async def test_without_a_secret_that_may_be_read_an_operator_has_keys_of_its_own(
    kubes: list[Kube], kubectl: Kubectl
) -> None:
    alone = await opened(kubes[0], None)
    forbidden = await opened(kubes[1], f"{NAME}-another")
    kubectl("delete", "secret", REPORT_SECRET, "-n", RELEASE_NAMESPACE)
    missing = await opened(kubes[2])

    pins = {pin for keys in (alone, forbidden, missing) for pin in keys.pins()}
    assert len(pins) == 6
    assert [keys.seal() for keys in (alone, forbidden, missing)] == [None] * 3

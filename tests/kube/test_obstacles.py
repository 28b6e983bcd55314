"""What stands in the loop's way is told, and what was learnt is recorded all the same."""

from typing import Any

import pytest

from afresh.core.names import job_name
from afresh.kube.cache import Cache
from afresh.kube.errors import UnavailableError
from afresh.kube.resources import AGENT_CLASSES, JOBS, PODS, SUBTASKS, Resource
from tests.kube.journeys import CLAUDE, by_subtask, entries
from tests.kube.world import KEY, World, make_world

WEBHOOK = 'POST jobs: failed calling webhook "mjob.kb.io": connection refused'


def two_subtasks() -> World:
    return make_world({"subtasks": entries("AB")}, judge=by_subtask())


async def turns(world: World, number: int = 20) -> None:
    for _ in range(number):
        await world.turn()


def markers(world: World) -> list[str]:
    return [record["marker"] for record in world.status()["subtasks"]]


async def test_a_webhook_that_is_down_hides_no_end_and_the_package_goes_on_when_it_is_back() -> (
    None
):
    world = two_subtasks()
    await world.turn()
    world.api.in_the_way[JOBS] = UnavailableError(WEBHOOK)

    await turns(world)
    held, done = world.status(), markers(world)
    world.api.in_the_way.clear()
    await world.drive()

    assert (held["phase"], held["reason"]) == ("Stalled", "StartRefused")
    assert WEBHOOK in held["conditions"][0]["message"]
    assert (done, markers(world)) == (["[x]", "[ ]"], ["[x]", "[x]"])


@pytest.mark.parametrize("kind", [JOBS, SUBTASKS], ids=["Job", "Subtask"])
async def test_an_object_of_another_under_a_name_of_ours_is_reported_and_deleting_it_is_enough(
    kind: Resource,
) -> None:
    world = two_subtasks()
    name = {
        JOBS: job_name(KEY.name, "B", 1, world.package()["metadata"]["uid"]),
        SUBTASKS: f"{KEY.name}-b",
    }[kind]
    own = {"name": name, "namespace": KEY.namespace}
    made = world.api.put_new(kind, {"kind": "Another", "metadata": own, "spec": {"suspend": True}})

    await turns(world)
    held = world.status()
    world.api.remove(kind, KEY.namespace, name, uid=made["metadata"]["uid"])
    await world.drive()

    assert (held["phase"], held["reason"]) == ("Stalled", "StartRefused")
    assert f"Another {name} already exists" in held["conditions"][0]["message"]
    assert markers(world) == ["[x]", "[x]"]


async def test_a_refused_child_does_not_keep_back_the_deletion_of_a_cancelled_job() -> None:
    world = two_subtasks()
    world.node.lasts = lambda *_: 1000
    await turns(world, 5)
    own = {"name": f"{KEY.name}-c", "namespace": KEY.namespace}
    world.api.put_new(SUBTASKS, {"kind": "Another", "metadata": own, "spec": {}})
    world.edit(subtasks=entries("ABC"))
    world.annotate(cancel="now")
    (running,) = world.api.of_kind(JOBS)

    await turns(world, 10)

    names = [job["metadata"]["name"] for job in world.api.of_kind(JOBS)]
    assert running["metadata"]["name"] not in names
    assert world.status()["reason"] == "StartRefused"


async def test_a_gate_is_closed_although_a_child_is_refused() -> None:
    world = make_world(
        {"subtasks": entries("AB")}, judge=by_subtask(), kind=CLAUDE, refuses=lambda _: True
    )
    world.node.lasts = lambda *_: 12
    await turns(world, 5)
    own = {"name": f"{KEY.name}-c", "namespace": KEY.namespace}
    world.api.put_new(SUBTASKS, {"kind": "Another", "metadata": own, "spec": {}})
    world.edit(subtasks=entries("ABC"))

    await turns(world, 20)

    (agent_class,) = world.api.of_kind(AGENT_CLASSES)
    assert [gate["secretName"] for gate in agent_class["status"]["gates"]] == ["anthropic"]


async def test_a_pod_of_another_with_the_packages_label_is_nobodys_concern() -> None:
    world = two_subtasks()
    owner = {"kind": "Job", "name": "report", "uid": "own", "controller": True}
    labels = {"afresh.dev/package": KEY.name}
    metadata = {"name": "report-x", "namespace": KEY.namespace, "labels": labels}
    pod = {"metadata": {**metadata, "ownerReferences": [owner]}, "spec": {}, "status": {}}
    world.api.put_new(PODS, pod)
    world.restart()
    await world.turn()
    await world.turn()
    job, *_ = world.api.of_kind(JOBS)

    world.api.remove(JOBS, KEY.namespace, job["metadata"]["name"], uid=job["metadata"]["uid"])
    await world.drive()

    assert markers(world) == ["[x]", "[x]"]


def test_an_answer_that_comes_after_its_object_is_gone_does_not_bring_it_back() -> None:
    cache = Cache()

    cache.put(PODS, pod_of_version(3))
    cache.drop(PODS, pod_of_version(5))
    cache.put(PODS, pod_of_version(4))
    late = cache.get(PODS, "team-a", "p")
    cache.put(PODS, pod_of_version(6))

    newer = cache.get(PODS, "team-a", "p")

    assert late is None
    assert newer is not None


def pod_of_version(version: int) -> dict[str, Any]:
    metadata = {"name": "p", "namespace": "team-a", "uid": "u", "resourceVersion": str(version)}
    return {"metadata": metadata, "spec": {}}

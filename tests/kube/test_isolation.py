"""The NetworkPolicies of a namespace: there before the first episode, and as they must be."""

from collections.abc import Callable
from typing import Any

import pytest

from afresh.kube.resources import AGENT_CLASSES, JOBS, NETWORK_POLICIES, Manifest
from tests.kube.journeys import LONG, agent_at, by_subtask, chain, entries, long_first
from tests.kube.world import KEY, World, make_world
from tests.make import seconds

OPEN = {"to": [{"namespaceSelector": {}}], "ports": [{"port": 80}]}
NAMESPACE_POLICY, CLASS_POLICY = "afresh-episodes", "afresh-class-command"


def policies(world: World) -> dict[str, Manifest]:
    return {item["metadata"]["name"]: item for item in world.api.of_kind(NETWORK_POLICIES)}


def changes_of(world: World, *kinds: Any) -> list[tuple[str, str]]:
    return [
        (body["metadata"]["name"], change)
        for kind, change, body in world.api.changes
        if kind in kinds
    ]


def busy_world(**kind: Any) -> World:
    """A world in which an agent has just begun a long piece of work."""
    return make_world(judge=by_subtask(), kind=kind, lasts=lambda *_: LONG)


async def until(world: World, seen: Callable[[World], bool]) -> None:
    while not seen(world):
        assert world.api.clock < seconds(300), "it never comes"
        if not await world.turn():
            world.api.clock = max(world.api.clock, min(world.operator.due.values()))


async def test_policies_are_written_once_before_the_first_job_of_a_namespace() -> None:
    world = make_world(
        {"subtasks": chain("ABC")}, {"subtasks": chain("AB")},
        judge=by_subtask(), kind={"egress": [OPEN]},
    )  # fmt: skip

    await world.drive()

    written = changes_of(world, NETWORK_POLICIES, JOBS)
    assert written[:2] == [(NAMESPACE_POLICY, "ADDED"), (CLASS_POLICY, "ADDED")]
    assert len(changes_of(world, NETWORK_POLICIES)) == 2


async def test_an_operator_that_restarts_does_not_write_a_policy_again() -> None:
    world = make_world(
        {"subtasks": chain("ABC")}, judge=by_subtask(), kind={"egress": [OPEN]},
        lasts=long_first("B"),
    )  # fmt: skip
    await until(world, agent_at("B"))

    world.restart()
    await world.drive()

    assert len(changes_of(world, NETWORK_POLICIES)) == 2


async def test_a_class_without_egress_has_no_policy_of_its_own() -> None:
    world = make_world({"subtasks": entries("A")}, judge=by_subtask())

    await world.drive()

    assert list(policies(world)) == [NAMESPACE_POLICY]


async def test_a_policy_that_is_edited_while_an_agent_works_is_put_right() -> None:
    world = busy_world()
    await until(world, agent_at("T001"))
    policy = policies(world)[NAMESPACE_POLICY]

    world.api.put_part(NETWORK_POLICIES, policy, "spec", {**policy["spec"], "ingress": [{}]})
    await until(world, lambda world: policies(world)[NAMESPACE_POLICY]["spec"] == policy["spec"])

    assert agent_at("T001")(world)


async def test_a_policy_that_is_deleted_while_an_agent_works_is_made_again() -> None:
    world = busy_world()
    await until(world, agent_at("T001"))
    metadata = policies(world)[NAMESPACE_POLICY]["metadata"]

    world.api.remove(NETWORK_POLICIES, KEY.namespace, NAMESPACE_POLICY, uid=metadata["uid"])
    await until(world, lambda world: NAMESPACE_POLICY in policies(world))

    assert agent_at("T001")(world)


async def test_what_a_class_no_longer_lets_out_is_taken_away_from_the_agent_at_work() -> None:
    world = busy_world(egress=[OPEN])
    await until(world, agent_at("T001"))
    assert "egress" in policies(world)[CLASS_POLICY]["spec"]

    old = world.api.objects[AGENT_CLASSES, "", "command"]
    world.api.put_part(AGENT_CLASSES, old, "spec", {**old["spec"], "egress": []})
    await until(world, lambda world: "egress" not in policies(world)[CLASS_POLICY]["spec"])

    assert agent_at("T001")(world)


@pytest.mark.parametrize("labels", [{}, {"app.kubernetes.io/managed-by": "Helm"}])
async def test_somebody_elses_policy_of_that_name_stalls_the_package_and_nothing_starts(
    labels: dict[str, str],
) -> None:
    world = make_world(judge=by_subtask())
    foreign = {"metadata": {"name": NAMESPACE_POLICY, "namespace": KEY.namespace, "labels": labels}}
    made = world.api.put_new(NETWORK_POLICIES, {**foreign, "spec": {"podSelector": {}}})
    # Nobody is told: the watch is for what carries the operator's label.
    world.api.changes.clear()
    world.restart()
    world.operator.cache.drop(NETWORK_POLICIES, made)

    await world.turn()

    status = world.status()
    assert (status["phase"], status["reason"]) == ("Stalled", "StartRefused")
    assert "delete it" in status["conditions"][0]["message"]
    assert world.api.of_kind(JOBS) == []
    assert policies(world)[NAMESPACE_POLICY] == made

"""What the operator knows of a namespace in which it may not list everything."""

from typing import Any

from afresh.kube.cache import Cache
from afresh.kube.loop import Loop
from afresh.kube.queue import Key
from afresh.kube.resources import JOBS, WORK_PACKAGES, Manifest
from tests.make import NOW

LABELS = {"app.kubernetes.io/managed-by": "afresh", "afresh.dev/package": "p"}


def item(namespace: str, name: str, version: int) -> Manifest:
    return {
        "metadata": {
            "namespace": namespace, "name": name, "uid": f"{namespace}-{name}",
            "resourceVersion": str(version), "labels": LABELS,
            "creationTimestamp": "2026-11-01T00:00:00Z",
        },
        "spec": {"agentClassName": "claude"},
    }  # fmt: skip


def cache_of(*namespaces: str) -> Cache:
    cache = Cache()
    for namespace in namespaces:
        cache.put(WORK_PACKAGES, item(namespace, "p", 5))
        cache.put(JOBS, item(namespace, "p-t001", 6))
    return cache


def test_what_is_forgotten_takes_no_place_and_is_known_again_from_the_next_list() -> None:
    cache = cache_of("team-a", "team-b")

    cache.forget("team-a")
    left = [job["metadata"]["namespace"] for job in cache.live_jobs()]
    lost = cache.children(JOBS, Key("team-a", "p"))
    cache.put(JOBS, item("team-a", "p-t001", 6))

    assert left == ["team-b"]
    assert lost == []
    known = {job["metadata"]["namespace"] for job in cache.live_jobs()}
    assert known == {"team-a", "team-b"}


def test_a_list_of_other_namespaces_says_nothing_of_one_that_cannot_be_listed() -> None:
    cache = cache_of("team-a", "team-b")
    cache.unlisted.add("team-a")

    gone = cache.retain(WORK_PACKAGES, set(), 9)

    assert [found["metadata"]["namespace"] for found in gone] == ["team-b"]
    assert cache.get(WORK_PACKAGES, "team-a", "p") is not None


async def test_nothing_is_decided_in_a_namespace_that_cannot_be_listed() -> None:
    cache = cache_of("team-a")
    cache.unlisted.add("team-a")
    nobody: Any = None  # whoever is asked anything fails the test
    loop = Loop(kube=nobody, cache=cache, observer=nobody, applier=nobody, wake=nobody)

    assert await loop.step(Key("team-a", "p"), now=NOW) is None

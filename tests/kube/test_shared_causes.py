"""Causes that many packages meet: one episode finds out, the others wait, and all go on later."""

from datetime import timedelta
from typing import Any

import pytest

from afresh.kube.errors import RefusedError
from afresh.kube.resources import AGENT_CLASSES, EVENTS, JOBS, PODS, WORK_PACKAGES
from tests.kube.journeys import by_subtask, entries
from tests.kube.world import World, check_rest, make_world
from tests.make import NOW, seconds

pytestmark = pytest.mark.slow

TWENTY = [{"subtasks": entries("ABCD"), "parallelism": 4}] * 20
TEN_MINUTES = seconds(600)
QUOTA = (
    'jobs.batch "x" is forbidden: exceeded quota: small, requested: count/jobs.batch=1, '
    "used: count/jobs.batch=1, limited: count/jobs.batch=1"
)


def names(world: World) -> list[str]:
    return [raw["metadata"]["name"] for raw in world.api.of_kind(WORK_PACKAGES)]


def all_succeeded(world: World) -> bool:
    return all(world.status(name).get("phase") == "Succeeded" for name in names(world))


async def until(world: World, end: timedelta) -> dict[str, list[tuple[str, str]]]:
    """Let the world go on until `end`; return each package's phases and reasons on the way."""
    told: dict[str, list[tuple[str, str]]] = {name: [] for name in names(world)}
    while world.api.clock < end:
        if not await world.turn():
            due = [*world.operator.due.values(), *(one.again for one in world.node.stuck.values())]
            later = [at for at in due if at > world.api.clock]
            world.api.clock = min([*later, end])
        for name in names(world):
            status = world.status(name)
            said = (status.get("phase", ""), status.get("reason", ""))
            if not told[name] or told[name][-1] != said:
                told[name].append(said)
    return told


async def finishes(world: World, within: timedelta) -> bool:
    """Let the world go on until all have succeeded, or the time is up; return whether they have."""
    end = world.api.clock + within
    while not all_succeeded(world) and world.api.clock < end:
        await world.turn()
    return all_succeeded(world)


def away_for_ten_minutes(what: str, *packages: dict[str, Any], **fields: Any) -> World:
    world = make_world(*(packages or TWENTY), judge=by_subtask(), **fields)
    world.node.away = lambda clock: what if clock < TEN_MINUTES else ""
    return world


def edit_class(world: World, **spec: Any) -> None:
    (old,) = world.api.of_kind(AGENT_CLASSES)
    world.api.put_part(AGENT_CLASSES, old, "spec", {**old["spec"], **spec})


def messages(world: World) -> set[str]:
    return {world.status(name)["conditions"][0]["message"] for name in names(world)}


def live_jobs(world: World) -> list[str]:
    return [
        job["metadata"]["name"]
        for job in world.api.of_kind(JOBS)
        if not job.get("status", {}).get("conditions")
    ]


async def test_an_image_that_cannot_be_pulled_costs_a_few_jobs_and_no_list_of_events() -> None:
    world = make_world(*TWENTY, judge=by_subtask())
    world.node.away = lambda clock: "image" if clock < TEN_MINUTES else ""

    told = await until(world, TEN_MINUTES)

    jobs = world.api.made[JOBS]
    assert jobs <= 8
    assert world.api.lists[EVENTS] == 0
    assert world.api.made[EVENTS] <= 200
    steady = {said[-1] for said in told.values()}
    assert steady == {("Stalled", "Config")}
    assert max(len(said) for said in told.values()) <= 3, told
    (message,) = messages(world)
    assert message.startswith("Correct the image example.com/agent:1")
    assert await finishes(world, seconds(330))
    await check_rest(world)


async def test_an_image_that_is_corrected_in_the_class_is_tried_at_once() -> None:
    world = away_for_ten_minutes("image")
    await until(world, seconds(60))
    assert world.status()["reason"] == "Config"

    world.node.away = lambda _: ""
    for stuck in world.node.stuck.values():
        stuck.again = seconds(10_000)  # the kubelet would not look at the old image again
    edit_class(world, image="example.com/agent:2")

    assert await finishes(world, seconds(60))


@pytest.mark.parametrize("at_once", [1, 2], ids=["one subtask at a time", "side by side"])
async def test_an_image_of_verifys_own_that_is_corrected_replaces_the_job_that_waits_for_it(
    at_once: int,
) -> None:
    verify = {"command": ["make", "test"]}
    world = make_world(
        {
            "subtasks": entries("AB"),
            "parallelism": at_once,
            "verify": {**verify, "image": "example.com/verify:wrong"},
        },
        judge=by_subtask(),
        kind={"allowedImages": ["example.com/*"]},
    )
    world.node.lacks = lambda image: image.endswith(":wrong")
    world.node.words = lambda said, _: said.replace("agent:1", "verify:wrong")
    await until(world, seconds(30))
    status, paid = world.status(), list(world.node.paid)
    (message,) = messages(world)
    jobs = world.api.made[JOBS]

    world.edit(verify={**verify, "image": "example.com/verify:right"})
    assert await finishes(world, seconds(30))

    assert (status["phase"], status["reason"]) == ("Stalled", "Config")
    assert message.startswith("Correct the image example.com/verify:wrong")
    assert status["wait"]["key"] == "example.com/verify:wrong"
    assert (paid, jobs) == ([], at_once)
    assert world.node.paid == ["A", "B"]
    assert world.status()["usage"]["episodes"] == 2
    await check_rest(world)


async def test_an_image_of_verifys_own_that_is_missing_costs_one_job_for_many_packages() -> None:
    verify = {"command": ["make", "test"], "image": "example.com/verify:1"}
    packages = [{**spec, "verify": verify} for spec in TWENTY[:8]]
    world = make_world(*packages, judge=by_subtask(), kind={"allowedImages": ["example.com/*"]})
    world.node.lacks = lambda image: image == verify["image"]

    told = await until(world, TEN_MINUTES)

    assert world.api.made[JOBS] <= 8
    assert {said[-1] for said in told.values()} == {("Stalled", "Config")}
    assert world.node.paid == []
    world.node.lacks = lambda _: False
    assert await finishes(world, seconds(330))


async def test_an_image_that_the_cluster_adds_to_pods_is_one_steady_cause() -> None:
    world = make_world(*TWENTY[:8], judge=by_subtask())
    add_containers(world)
    world.node.lacks = lambda image: image == "example.com/proxy:1"

    told = await until(world, TEN_MINUTES)

    assert world.api.made[JOBS] <= 8
    assert {said[-1] for said in told.values()} == {("Stalled", "Config")}
    assert max(len(said) for said in told.values()) <= 3, told
    (message,) = messages(world)
    assert message.startswith("Correct the image example.com/proxy:1 where the cluster adds it")
    world.node.lacks = lambda _: False
    assert await finishes(world, seconds(330))


async def test_an_init_container_of_the_clusters_that_fails_costs_a_few_jobs_and_no_attempt() -> (
    None
):
    world = away_for_ten_minutes("init", *TWENTY[:8])

    told = await until(world, TEN_MINUTES)

    assert world.api.made[JOBS] <= 20
    assert {said[-1] for said in told.values()} == {("Stalled", "Config")}
    assert max(len(said) for said in told.values()) <= 4, told
    (message,) = messages(world)
    assert message.startswith("Correct the init container mesh-init where the cluster adds it")
    assert world.node.paid == []
    assert await finishes(world, seconds(330))
    assert len(world.node.paid) == 8 * 4
    await check_rest(world)


def add_containers(world: World) -> None:
    """Have a webhook add a container to every pod."""
    put_new = world.api.put_new

    def put(kind: Any, body: Any) -> Any:
        if kind is PODS:
            spec = body["spec"]
            proxy = {"name": "proxy", "image": "example.com/proxy:1"}
            body = {**body, "spec": {**spec, "containers": [*spec["containers"], proxy]}}
        return put_new(kind, body)

    world.api.put_new = put  # type: ignore[method-assign]


async def test_a_pod_that_starts_after_all_lets_everybody_go_on_in_the_same_minute() -> None:
    world = away_for_ten_minutes("image")
    await until(world, seconds(60))

    world.node.away = lambda _: ""
    for stuck in world.node.stuck.values():
        stuck.again = seconds(0)

    assert await finishes(world, seconds(60))


async def test_when_the_package_leaves_whose_job_waits_another_one_tries() -> None:
    world = away_for_ten_minutes("image")
    await until(world, seconds(60))
    holders = {name for name in names(world) if world.status(name)["wait"].get("episode")}
    assert 1 <= len(holders) <= 4

    for name in holders:
        world.edit(name, suspend=True)
        world.annotate(name, cancel="now")
    await until(world, seconds(120))

    left = {name for name in names(world) if world.status(name).get("wait", {}).get("episode")}
    assert len(left) == 1
    assert not left & holders
    assert world.api.made[JOBS] <= 8


async def test_a_restart_in_between_starts_nothing_more() -> None:
    world = away_for_ten_minutes("image")
    await until(world, seconds(60))
    made = world.api.made[JOBS]

    world.restart()
    await until(world, seconds(300))

    assert world.api.made[JOBS] == made
    assert await finishes(world, seconds(630))


async def test_an_image_that_never_comes_is_tried_by_one_job_after_another() -> None:
    world = away_for_ten_minutes("image")
    world.node.away = lambda _: "image"

    await until(world, seconds(4 * 3600))

    assert world.api.made[JOBS] <= 4 + 4 * 3600 / 900
    assert len(live_jobs(world)) <= 1
    records = [record for name in names(world) for record in world.status(name)["subtasks"]]
    assert {record.get("consecutiveFailures", 0) for record in records} == {0}


async def test_a_quota_on_pods_lets_one_job_wait_for_each_of_the_first_and_reads_few_events() -> (
    None
):
    world = away_for_ten_minutes("refused")

    told = await until(world, TEN_MINUTES)

    assert world.api.made[JOBS] <= 8
    assert world.api.lists[EVENTS] <= 8 * 6
    assert {said[-1] for said in told.values()} == {("Stalled", "StartRefused")}
    assert max(len(said) for said in told.values()) <= 4, told
    (message,) = messages(world)
    assert message.startswith("Raise the quota of the namespace")
    assert await finishes(world, seconds(330))


async def test_a_quota_on_jobs_is_asked_by_one_package_at_a_time() -> None:
    world = make_world(*TWENTY, judge=by_subtask())
    world.api.in_the_way[JOBS] = RefusedError(QUOTA)

    told = await until(world, TEN_MINUTES)

    # All twenty may ask before the first answer is known; then one does at each step.
    assert world.api.made[JOBS] <= 20 + 10
    assert {said[-1] for said in told.values()} == {("Stalled", "StartRefused")}
    world.api.in_the_way.clear()
    assert await finishes(world, seconds(330))


async def test_a_quota_is_tried_again_when_an_episode_of_the_namespace_ends() -> None:
    world = make_world(
        {"subtasks": entries("A")}, {"subtasks": entries("A"), "suspend": True}, judge=by_subtask()
    )
    world.node.lasts = lambda *_: 100
    await until(world, seconds(5))
    world.api.in_the_way[JOBS] = RefusedError(QUOTA)
    world.edit(name="package-1", suspend=False)
    await until(world, seconds(90))
    assert world.status("package-1")["reason"] == "StartRefused"
    assert world.status("package-1")["wait"]["until"] > (NOW + seconds(110)).isoformat()[:19]

    world.api.in_the_way.clear()
    await until(world, seconds(110))

    assert world.status("package-1")["reason"] == "EpisodeRunning"


async def test_a_full_cluster_sees_ten_pods_of_a_class_and_is_no_fault() -> None:
    world = make_world(*TWENTY, judge=by_subtask())
    await until(world, seconds(4))  # pods of the class have started before
    world.node.lasts = lambda *_: 5
    world.node.away = lambda clock: "full" if clock < TEN_MINUTES else ""

    told = await until(world, TEN_MINUTES)

    waiting = sum(1 for stuck in world.node.stuck.values() if stuck.order.tasks)
    assert 1 <= waiting <= 10
    assert {said[-1][0] for said in told.values()} <= {"Pending", "Succeeded"}
    assert {said[-1][1] for said in told.values()} <= {
        "NoCapacity", "EpisodeNotStarted", "PlanBehind", "Succeeded"
    }  # fmt: skip
    assert await finishes(world, seconds(330))


async def test_a_pod_that_never_fits_stalls_all_packages_of_its_shape_with_a_few_jobs() -> None:
    world = away_for_ten_minutes("never")

    told = await until(world, TEN_MINUTES)

    assert world.api.made[JOBS] <= 8
    assert world.api.lists[EVENTS] == 0
    assert {said[-1] for said in told.values()} == {("Stalled", "NeverFits")}
    (message,) = messages(world)
    assert message.startswith("Lower the requests")
    assert await finishes(world, seconds(330))


async def test_a_git_server_that_is_away_is_asked_by_one_runner_without_an_agent_at_a_time() -> (
    None
):
    world = away_for_ten_minutes("git")
    first = seconds(30)
    await until(world, first)
    agents = len(world.node.ran)

    told = await until(world, TEN_MINUTES)

    assert len(world.node.ran) == agents, "an agent's pod is no probe of a git server"
    # 2, 4, 8, ... 256 seconds: one runner for each step.
    assert len(world.node.knocks) <= agents + 10
    assert {said[-1] for said in told.values()} == {("Pending", "GitUnreachable")}
    assert max(len(said) for said in told.values()) <= 2, told
    (message,) = messages(world)
    assert "https://git.example.com/x" in message
    assert await finishes(world, seconds(330))


async def test_a_git_server_that_is_away_for_long_stalls_and_is_asked_slowly() -> None:
    world = away_for_ten_minutes("git")
    world.node.away = lambda _: "git"
    await until(world, seconds(3700))
    knocks = len(world.node.knocks)

    told = await until(world, seconds(4 * 3600))

    assert {said[-1] for said in told.values()} == {("Stalled", "GitUnreachable")}
    assert len(world.node.knocks) - knocks <= 3 * 4 + 1


async def test_a_user_who_asks_for_it_has_the_cause_tried_at_once() -> None:
    world = away_for_ten_minutes("git", {"subtasks": entries("AB")})
    await until(world, seconds(400))
    world.node.away = lambda _: ""

    world.annotate(retry="now")

    assert await finishes(world, seconds(30))


async def test_the_packages_of_another_namespace_or_image_are_not_held() -> None:
    other = {"subtasks": entries("AB"), "image": "example.com/other:1"}
    world = make_world(
        {"subtasks": entries("AB")}, other, judge=by_subtask(),
        kind={"allowedImages": ["example.com/*"]},
    )  # fmt: skip
    world.node.away = lambda _: "image"
    world.node.spares = lambda order: "package-1" in order.package

    await until(world, seconds(120))

    assert world.status("package-1")["phase"] == "Succeeded"
    assert world.status()["reason"] == "Config"


async def test_pods_that_never_fit_keep_no_other_package_from_starting() -> None:
    huge = {"requests": {"cpu": "500"}, "limits": {"cpu": "500"}}
    world = make_world(
        {"subtasks": entries("AB")},
        {"subtasks": entries("ABCDEFGHIJKL"), "parallelism": 12, "resources": huge},
        {"subtasks": entries("AB"), "suspend": True},
        judge=by_subtask(),
        kind={"ceilings": {"limits": {"cpu": "900"}}},
    )
    world.node.away = lambda _: "never"
    world.node.spares = lambda order: "package-1" not in order.package
    await until(world, seconds(60))
    assert world.status("package-1")["reason"] == "NeverFits"

    world.edit(name="package-2", suspend=False)
    await until(world, seconds(120))

    assert world.status("package-2")["phase"] == "Succeeded"


def told_anew(said: str, clock: timedelta) -> str:
    """The same cause as the cluster words it later: other pods, more nodes, more of a quota."""
    number = 10 + int(clock.total_seconds()) % 89
    said = said.replace("0/1 nodes", f"0/{number} nodes").replace(": 1 ", f": {number} ")
    said = said.replace('pods "x"', f'pods "x-{number}"').replace(
        "used: pods=1", f"used: pods={number}"
    )
    return f"(combined from similar events): {said}"


@pytest.mark.parametrize("away", ["image", "full", "never", "refused"])
async def test_a_cause_of_ten_minutes_whose_words_change_costs_one_write_of_the_status(
    away: str,
) -> None:
    world = away_for_ten_minutes(away, {"subtasks": entries("A")})
    world.node.words = told_anew

    await until(world, TEN_MINUTES)

    (message,) = messages(world)
    written = [body for kind, _, body in world.api.changes if kind is WORK_PACKAGES]
    saying = [body for body in written if message in str(body.get("status"))]
    assert "Details: " in message
    assert saying == written[-1:]


async def test_a_plan_that_a_closed_gate_holds_back_is_written_once_the_gate_is_open() -> None:
    world = make_world(
        {"subtasks": entries("A")}, {"subtasks": entries("A"), "suspend": True}, judge=by_subtask()
    )
    await until(world, seconds(20))
    assert world.status()["phase"] == "Succeeded"
    world.node.away = lambda clock: "image" if clock < TEN_MINUTES else ""
    world.edit(name="package-1", suspend=False)
    await until(world, seconds(60))

    world.edit(goal="Another.")
    await until(world, seconds(120))
    assert world.status()["reason"] == "PlanBehind"

    await until(world, TEN_MINUTES)
    assert await finishes(world, seconds(400))
    await check_rest(world)

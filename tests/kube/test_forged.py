"""Jobs and pods of somebody's own making, in a cluster without policies: none of them is believed.

The forger may make and change any Job and pod of the namespace, and no status but by its own pod.
"""

from copy import deepcopy
from dataclasses import replace
from typing import Any

from afresh.contract import report
from afresh.contract.report import Report, Result
from afresh.contract.words import Outcome
from afresh.core.names import job_name, sync_name
from afresh.kube.resources import AGENT_CLASSES, JOBS, PODS, Manifest
from tests.kube.journeys import LONG, by_subtask, entries
from tests.kube.world import KEY, SEAL, Operator, World, make_world
from tests.manifests.jobs import make_job

MADE_UP = "f" * 40


def a_world(**spec: Any) -> World:
    return make_world({"subtasks": entries("A"), **spec}, judge=by_subtask(), lasts=lambda *_: LONG)


async def turns(world: World, number: int = 6) -> None:
    for _ in range(number):
        await world.turn()


def record(world: World) -> Manifest:
    (found,) = world.status()["subtasks"]
    return dict(found)


def name_of_first(world: World) -> str:
    return job_name(KEY.name, "A", 1, world.package()["metadata"]["uid"])


def forged_job(world: World, name: str, **labels: str) -> Manifest:
    """A Job that looks like an episode's, down to its owner."""
    made = deepcopy(make_job())
    metadata = world.package()["metadata"]
    owner = {"kind": "WorkPackage", "name": KEY.name, "uid": metadata["uid"], "controller": True}
    for part in (made["metadata"], made["spec"]["template"]["metadata"]):
        part["labels"] |= {f"afresh.dev/{key}": value for key, value in labels.items()}
        subtask = labels["subtask"]
        part["annotations"]["afresh.dev/batch"] = (
            f"{subtask}:{labels['attempt']}:0" if subtask else ""
        )
    made["metadata"] |= {"name": name, "namespace": KEY.namespace, "ownerReferences": [owner]}
    made["spec"]["template"]["spec"]["containers"][0]["image"] = "example.com/mine:1"
    return world.api.put_new(JOBS, made)


def forged_pod(world: World, job: Manifest, tail: str = "mine") -> Manifest:
    """A pod that says of the Job's episode what its maker likes."""
    owner = {"kind": "Job", "name": job["metadata"]["name"], "uid": job["metadata"]["uid"],
             "controller": True}  # fmt: skip
    template = deepcopy(job["spec"]["template"])
    template["spec"]["containers"][0]["image"] = "example.com/mine:1"
    metadata = {**template["metadata"], "name": f"{owner['name']}-{tail}",
                "namespace": KEY.namespace, "ownerReferences": [owner]}  # fmt: skip
    report_sent = Report(
        episode=str(owner["name"]), stage="reported", final=True, plan_digest="sha256:0",
        results=(Result(id="A", outcome=Outcome.SUCCESS, commit=MADE_UP, message="Done."),),
    )  # fmt: skip
    state = {"terminated": {"exitCode": 0, "message": report.fit(report_sent)}}
    status = {"phase": "Succeeded", "containerStatuses": [{"name": "runner", "state": state}]}
    return world.api.put_new(PODS, {"metadata": metadata, "spec": template["spec"],
                                    "status": status})  # fmt: skip


def delete(world: World, kind: Any, item: Manifest) -> None:
    metadata = item["metadata"]
    world.api.remove(kind, metadata["namespace"], metadata["name"], uid=metadata["uid"])


def message(world: World) -> str:
    return str(world.status()["conditions"][0]["message"])


DONE_BY_ONE_RUN = ("Succeeded", "A-r0", 1)


async def ending(world: World) -> tuple[str, str, int]:
    """Let the world come to rest; return the package's phase, its commit and the number of runs."""
    await world.drive()
    return world.status()["phase"], record(world)["commit"], len(world.node.ran)


async def test_a_job_in_the_name_of_a_suspended_package_is_no_evidence_and_is_reported() -> None:
    world = a_world(suspend=True)
    await turns(world)
    job = forged_job(world, name_of_first(world), attempt="1", subtask="A")
    pod = forged_pod(world, job)
    world.api.put_part(JOBS, job, "status", {"conditions": [{"type": "Complete",
                                             "status": "True", "reason": "Done"}]})  # fmt: skip
    await turns(world)
    while_suspended = record(world)
    world.edit(suspend=False)
    await turns(world)
    state, held = message(world), world.status()["phase"]

    delete(world, PODS, pod)
    delete(world, JOBS, world.api.objects[JOBS, KEY.namespace, name_of_first(world)])
    assert await ending(world) == DONE_BY_ONE_RUN

    assert (while_suspended["marker"], while_suspended["attempts"]) == ("[ ]", 0)
    assert held == "Stalled"
    assert f"Job {name_of_first(world)} already exists" in state
    assert "delete it" in state


async def test_a_job_of_a_later_attempt_is_nobodys_concern() -> None:
    world = a_world()
    await turns(world)
    uid = world.package()["metadata"]["uid"]
    job = forged_job(world, job_name(KEY.name, "A", 7, uid), attempt="7", subtask="A")
    forged_pod(world, job)

    assert await ending(world) == DONE_BY_ONE_RUN

    assert record(world)["attempts"] == 1


async def test_a_sync_of_somebodys_says_nothing_of_the_branch() -> None:
    world = a_world()
    await turns(world)
    uid = world.package()["metadata"]["uid"]
    job = forged_job(world, sync_name(KEY.name, 1, uid), attempt="1", subtask="")
    forged_pod(world, job)

    assert await ending(world) == DONE_BY_ONE_RUN

    assert "planSync" not in world.status()
    assert world.status()["planDigest"] != "sha256:0"


async def test_a_pod_under_a_job_that_has_none_yet_stalls_the_package_until_it_is_deleted() -> None:
    world = a_world(queueName="agents")
    await turns(world)
    (job,) = world.api.of_kind(JOBS)
    pod = forged_pod(world, job)
    await turns(world)
    held, state = record(world), message(world)

    delete(world, PODS, pod)
    world.api.objects.pop((PODS, KEY.namespace, pod["metadata"]["name"]), None)
    world.api.changes.append((PODS, "DELETED", pod))
    world.open_queue()
    assert await ending(world) == DONE_BY_ONE_RUN

    assert held["marker"] == "[~]"
    assert "commit" not in held
    assert f"pod {pod['metadata']['name']} is not as the operator made it" in state


async def test_a_pod_beside_the_real_one_changes_nothing() -> None:
    world = a_world()
    await turns(world)
    (job,) = world.api.of_kind(JOBS)
    forged_pod(world, job)

    await turns(world)
    held = record(world)
    world.node.lingers = LONG
    assert await ending(world) == DONE_BY_ONE_RUN

    assert held["marker"] == "[~]"


async def test_a_pod_of_no_job_is_nobodys_concern() -> None:
    world = a_world(suspend=True)
    await turns(world)
    gone = make_job()
    gone["metadata"] |= {"name": name_of_first(world), "uid": "gone", "namespace": KEY.namespace}
    template = gone["spec"]["template"]["metadata"]
    template["annotations"]["afresh.dev/batch"] = "A:1:0"
    template["labels"]["afresh.dev/subtask"] = "A"
    forged_pod(world, gone)
    await turns(world)
    held = record(world)

    world.edit(suspend=False)
    assert await ending(world) == DONE_BY_ONE_RUN

    assert (held["marker"], held["attempts"]) == ("[ ]", 0)


async def test_a_pod_changed_by_hand_holds_its_result_back_until_it_is_put_back() -> None:
    world = a_world()
    await turns(world)
    (pod,) = world.api.of_kind(PODS)
    image = deepcopy(pod["spec"])
    image["containers"][0]["image"] = "example.com/mine:1"
    world.api.put_part(PODS, pod, "spec", image)
    await turns(world, LONG * 2)
    held, state = record(world), message(world)
    (changed,) = world.api.of_kind(PODS)

    world.api.put_part(PODS, changed, "spec", pod["spec"])
    assert await ending(world) == DONE_BY_ONE_RUN

    assert held["marker"] == "[~]"
    assert f"pod {pod['metadata']['name']} is not as the operator made it" in state


async def test_a_job_changed_by_hand_loses_nothing_of_what_its_pod_has_done() -> None:
    world = a_world()
    await turns(world)
    (job,) = world.api.of_kind(JOBS)
    labels = {**job["metadata"]["labels"], "afresh.dev/attempt": "9"}
    world.api.put_part(JOBS, job, "metadata", {"labels": labels})

    assert await ending(world) == DONE_BY_ONE_RUN

    assert record(world)["attempts"] == 1


async def test_a_job_that_replaces_a_deleted_running_one_is_reported() -> None:
    world = a_world()
    await turns(world)
    (job,) = world.api.of_kind(JOBS)
    delete(world, JOBS, job)
    (pod,) = world.api.of_kind(PODS)
    delete(world, PODS, pod)
    world.node.runners.clear()
    forged_pod(world, forged_job(world, name_of_first(world), attempt="1", subtask="A"))

    await turns(world, LONG)
    held, state = record(world), message(world)
    delete(world, JOBS, world.api.objects[JOBS, KEY.namespace, name_of_first(world)])
    assert await ending(world) == ("Succeeded", "A-r0", 2)

    assert "commit" not in held
    assert f"Job {name_of_first(world)} is not as the operator made it" in state


async def test_a_copy_of_an_older_packages_job_is_nobodys_concern() -> None:
    world = a_world()
    await turns(world)
    (job,) = world.api.of_kind(JOBS)
    other = a_world()
    package = deepcopy(other.package())
    package["metadata"]["uid"] = "99999999-2222-3333-4444-555555555555"
    other.api.objects[next(key for key in other.api.objects if key[2] == KEY.name)] = package
    other.restart()
    await turns(other, 1)
    copied = deepcopy(job)
    copied["metadata"]["ownerReferences"][0]["uid"] = package["metadata"]["uid"]
    copied["metadata"]["uid"] = "copied"
    other.api.put_new(JOBS, copied)

    assert not SEAL.is_broken(JOBS, copied)
    await turns(other)
    names = {item["jobName"] for item in attempts(other)}

    assert job["metadata"]["name"] not in names


def attempts(world: World) -> list[Manifest]:
    return [
        attempt
        for (kind, _, _), body in world.api.objects.items()
        if body.get("kind") == "Subtask"
        for attempt in body.get("status", {}).get("attempts", [])
    ]


async def test_a_forged_job_takes_no_place_in_its_class() -> None:
    world = make_world(
        {"subtasks": entries("A"), "suspend": True},
        {"subtasks": entries("A")},
        judge=by_subtask(),
        kind={"maxConcurrentEpisodes": 1},
        lasts=lambda task, _: 100 if task.id == "T001" else 1,
    )
    forged_job(world, "mine", attempt="1", subtask="T001")
    await turns(world, 30)

    assert world.status("package-1")["phase"] == "Succeeded"


async def test_a_running_episode_counts_after_an_upgrade_to_another_runner() -> None:
    world = a_world()
    await turns(world)

    world.operator = Operator(world.api, runner_image="example.com/runner:2")

    assert await ending(world) == DONE_BY_ONE_RUN


async def test_a_running_episode_counts_after_an_edit_of_its_class_and_package() -> None:
    world = a_world()
    await turns(world)
    (kind,) = world.api.of_kind(AGENT_CLASSES)
    world.api.put_part(AGENT_CLASSES, kind, "spec", {**kind["spec"], "image": "example.com/b:2"})
    world.edit(goal="Another goal.")

    assert await ending(world) == DONE_BY_ONE_RUN


async def test_a_running_episode_counts_when_the_report_key_has_changed() -> None:
    world = a_world()
    world.operator.observer.report_pins = lambda: ("one", "two")
    await turns(world)
    world.restart()
    world.operator.observer.report_pins = lambda: ("two", "three")

    assert await ending(world) == DONE_BY_ONE_RUN


async def test_a_job_that_was_made_and_not_recorded_counts_after_an_upgrade() -> None:
    world = a_world()
    splits = []

    def split(instant: str) -> None:
        made = world.api.of_kind(JOBS)
        if made and "subtasks" not in world.status():
            splits.append(world.fork())

    world.api.around_write = split
    await turns(world)
    assert splits
    for one in splits:
        one.operator = Operator(one.api, runner_image="example.com/runner:2")
        one.node = replace(one.node, hint=None)
        assert await ending(one) == DONE_BY_ONE_RUN

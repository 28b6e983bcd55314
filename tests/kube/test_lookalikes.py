"""Jobs and pods that somebody else made and dressed up as far as the admission policies let him."""

from typing import Any

import pytest

from afresh.contract import codec, report
from afresh.contract.order import Order
from afresh.contract.report import Report, Result
from afresh.contract.words import Outcome
from afresh.kube.cache import Cache
from afresh.kube.handlers import EventRouter
from afresh.kube.queue import KeyQueue
from afresh.kube.resources import JOBS, PODS, Manifest
from tests.kube.journeys import by_subtask, entries
from tests.kube.world import KEY, make_world
from tests.make import NOW

COMMIT = "f" * 40


async def test_a_pod_that_the_job_controller_took_in_by_its_selector_reports_nothing() -> None:
    world = make_world({"subtasks": entries("A")}, judge=by_subtask())
    await world.operator.turn()
    (job,) = world.api.of_kind(JOBS)
    ended = {"conditions": [{"type": "Complete", "status": "True"}], "startTime": world.api.time()}
    world.api.put_part(JOBS, job, "status", ended)
    world.api.put_new(PODS, pod_of(job, message=success(job)))

    world.operator.watch()
    await world.operator.turn()

    (record,) = world.status()["subtasks"]
    assert record["marker"] != "[x]"
    assert COMMIT not in str(world.status())


def success(job: Manifest) -> str:
    notes = job["spec"]["template"]["metadata"]["annotations"]
    order = codec.loads(Order, notes["afresh.dev/order"])
    results = tuple(
        Result(id=task.id, outcome=Outcome.SUCCESS, commit=COMMIT, message="Done.")
        for task in order.tasks
    )
    sent = Report(episode=order.episode, stage="reported", final=True, results=results)
    return report.fit(sent)


def pod_of(job: Manifest, message: str = "", **metadata: Any) -> Manifest:
    """A pod with no word of Afresh, which has the one label that the Job selects by."""
    owner = {"kind": "Job", "name": job["metadata"]["name"], "uid": job["metadata"]["uid"]}
    state = {"terminated": {"exitCode": 0, "message": message}}
    return {
        "metadata": {
            "name": "mine",
            "namespace": KEY.namespace,
            "ownerReferences": [{**owner, "controller": True}],
            **metadata,
        },
        "spec": {},
        "status": {
            "phase": "Succeeded",
            "containerStatuses": [{"name": "runner", "state": state}],
        },
    }


@pytest.mark.parametrize("generations", ["1/²", "1/" + "9" * 5000], ids=["superscript", "long"])
def test_an_odd_annotation_on_somebodys_pod_does_not_end_a_list(generations: str) -> None:
    cache, queue = Cache(), KeyQueue()
    router = EventRouter(cache, queue, queue)
    job = {"metadata": {"name": "j", "uid": "u"}}
    labels = {"app.kubernetes.io/managed-by": "afresh", "afresh.dev/package": "p"}
    pod = pod_of(
        job,
        uid="v",
        resourceVersion="1",
        creationTimestamp=NOW.isoformat(),
        labels=labels,
        annotations={"afresh.dev/generations": generations},
    )

    router.see(PODS, None, pod)

    assert cache.get(PODS, KEY.namespace, "mine") is not None

"""The floor: ten bare Jobs in a row, the next one created as soon as one signal is seen."""

import time
from collections.abc import Callable
from itertools import pairwise
from typing import Any

from afresh.kube.client import Kube
from afresh.kube.resources import JOBS
from tests.bench.watching import Watching

Signal = Callable[[Watching, str], bool]
PATIENCE = 60


def containers_terminated(seen: Watching, job: str) -> bool:
    """(a): every container status of the pod is terminated."""
    pod = seen.pod_of(job) or {}
    states = [item["state"] for item in pod.get("status", {}).get("containerStatuses", [])]
    return bool(states) and all("terminated" in state for state in states)


def pod_phase(seen: Watching, job: str) -> bool:
    """(b): the pod's phase is terminal."""
    pod = seen.pod_of(job) or {}
    return pod.get("status", {}).get("phase") in ("Succeeded", "Failed")


def job_condition(seen: Watching, job: str) -> bool:
    """(c): the Job is Complete."""
    status = seen.objects.get(("job", job), {}).get("status", {})
    return any(
        c["type"] == "Complete" and c["status"] == "True" for c in status.get("conditions", [])
    )


async def run_in_a_row(
    kube: Kube, seen: Watching, namespace: str, image: str, signal: Signal, count: int
) -> tuple[list[float], list[float]]:
    """Return the seconds between the code of consecutive Jobs, and from creation to code."""
    codes, starts = [], []
    for number in range(count):
        name = f"bare-{signal.__name__.replace('_', '-')}-{number}"
        created = time.time()
        await kube.create(JOBS, namespace, _job(namespace, name, image))
        while not signal(seen, name):
            await seen.next_event(PATIENCE)
        code = await _code_time(seen, name)
        codes.append(code)
        starts.append(code - created)
    return [after - before for before, after in pairwise(codes)], starts


async def _code_time(seen: Watching, job: str) -> float:
    while True:
        pod = seen.pod_of(job) or {}
        for item in pod.get("status", {}).get("containerStatuses", []):
            if "terminated" in item["state"]:
                return float(item["state"]["terminated"]["message"])
        await seen.next_event(PATIENCE)


def _job(namespace: str, name: str, image: str) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "backoffLimit": 0,
            "template": {
                "spec": {
                    "restartPolicy": "Never",
                    "automountServiceAccountToken": False,
                    "containers": [
                        {
                            "name": "step",
                            "image": image,
                            "imagePullPolicy": "IfNotPresent",
                            "command": ["sh", "-c", "date +%s.%N > /dev/termination-log"],
                            "resources": {
                                "requests": {"cpu": "50m"},
                                "limits": {"memory": "256Mi"},
                            },
                        }
                    ],
                }
            },
        },
    }

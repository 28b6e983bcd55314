"""As many subtasks as a package may have, two episodes each, with texts as long as can be.

Part of `make test-matrix`; the name keeps it out of the daily run: it takes minutes of two cores.
"""

import asyncio
import json
import time
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from afresh.contract.order import Order
from afresh.contract.report import Report, VerifyResult
from afresh.contract.words import Outcome
from afresh.kube.resources import JOBS, PODS, SUBTASKS, WORK_PACKAGES, Manifest
from tests.apiserver.kubectl import Kubectl
from tests.apiserver.node import Node
from tests.apiserver.story import apply, node_of
from tests.apiserver.test_operator import operator

pytestmark = pytest.mark.apiserver
__all__ = ["operator"]
OBJECT_BYTES = 256 * 1024
MOST_SUBTASKS = 200
PATIENCE = 3600
# The server stores each of these as six bytes.
WORDS = "<&>" * 1000


@pytest.mark.usefixtures("operator")
async def test_after_400_episodes_that_end_in_long_words_every_object_is_below_256_kib(
    kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    seen: Counter[str] = Counter()

    def second_time_blocked(order: Order) -> Outcome:
        id = order.tasks[0].id
        seen[id] += 1
        return Outcome.VERIFY_FAILED if seen[id] == 1 else Outcome.BLOCKED

    subtasks = [{"id": f"T{n:019}", "prompt": "Do it."} for n in range(MOST_SUBTASKS)]
    apply(kubectl, namespace, subtasks, parallelism=20, maxEpisodes=3 * MOST_SUBTASKS)

    async with node_of(kubeconfig, namespace, second_time_blocked) as node:
        node.pause, node.tell = 1.0, verbose
        package = await ended_slowly(node)
        sizes = {
            f"{kind.plural}/{item['metadata']['name']}": size_of(item)
            for kind in (WORK_PACKAGES, SUBTASKS, JOBS, PODS)
            for item in await node.kube.list_items(kind, namespace)
        }

    status = package["status"]
    assert status["phase"] == "NeedsReview"
    assert status["usage"]["episodes"] == 2 * MOST_SUBTASKS
    assert len(status["reviews"]) == MOST_SUBTASKS
    assert min(len(review["message"]) for review in status["reviews"]) >= 30
    assert {name: size for name, size in sizes.items() if size > OBJECT_BYTES} == {}


def verbose(told: Report) -> Report:
    """Say as much as can be wherever a Report may say something."""
    tail = VerifyResult(exit_code=1, duration_seconds=1.5, tail=WORDS)
    results = tuple(
        replace(item, message=WORDS, summary=WORDS, verify=tail, warnings=(WORDS,) * 16)
        for item in told.results
    )
    return replace(told, results=results, log_tail=WORDS)


async def ended_slowly(node: Node) -> Manifest:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        package = await node.kube.get(WORK_PACKAGES, node.namespace, "p")
        if package.get("status", {}).get("phase") == "NeedsReview":
            return package
        await asyncio.sleep(1)
    raise AssertionError(f"still {package.get('status', {}).get('progress')}")


def size_of(item: Manifest) -> int:
    """How many bytes the API server stores for it, who owns which field included."""
    text = json.dumps(item, separators=(",", ":"), ensure_ascii=False)
    return len(text.encode()) + 5 * sum(map(text.count, "<>&"))

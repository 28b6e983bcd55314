"""One package of ten subtasks with an instant agent, and where the time between two agents goes."""

import asyncio
import itertools
import json
import time
from pathlib import Path
from typing import Any

from afresh.contract import report
from afresh.contract.report import Report
from afresh.kube.client import Kube
from afresh.kube.resources import WORK_PACKAGES
from tests.bench.watching import Watching

PATIENCE = 300
INSTANT = ["/bin/sh", "-c", "cat >/dev/null; date +%s.%N >> stamps.txt"]

# From the end of one agent to the start of the next, in order.
STAGES = (
    ("agent ended -> committed", "agentEnded", "committed"),
    ("committed -> verified", "committed", "verified"),
    ("verified -> pushed", "verified", "pushed"),
    ("pushed -> reported", "pushed", "reported"),
    ("reported -> next Job created (operator)", "reported", "next.jobCreated"),
    ("Job created -> pod scheduled", "next.jobCreated", "next.podScheduled"),
    ("pod scheduled -> runner started", "next.podScheduled", "next.runnerStarted"),
    ("runner started -> prepared", "next.runnerStarted", "next.prepared"),
    ("prepared -> agent started", "next.prepared", "next.agentStarted"),
)


def manifests(namespace: str, image: str, git_url: str, count: int) -> list[dict[str, Any]]:
    """Return the AgentClass and the WorkPackage."""
    agent_class = {
        "apiVersion": "afresh.dev/v1alpha1",
        "kind": "AgentClass",
        "metadata": {"name": "bench"},
        "spec": {
            "adapter": "Command",
            "command": INSTANT,
            "image": image,
            "resources": {"requests": {"cpu": "50m", "memory": "64Mi"}},
        },
    }
    package = {
        "apiVersion": "afresh.dev/v1alpha1",
        "kind": "WorkPackage",
        "metadata": {"name": "bench", "namespace": namespace},
        "spec": {
            "agentClassName": "bench",
            "repository": {"url": f"{git_url}/ledger.git", "secretName": "git-credentials"},
            "verify": {"command": ["true"]},
            "subtasks": [{"id": f"T{n:03}", "prompt": "Add a stamp."} for n in range(count)],
        },
    }
    return [agent_class, package]


async def run_package(
    kube: Kube, seen: Watching, namespace: str
) -> tuple[list[float], dict[str, list[float]]]:
    """Follow the package to its end; return the hand-overs and the seconds of each stage."""
    deadline = time.monotonic() + PATIENCE
    while True:
        package = await kube.get(WORK_PACKAGES, namespace, "bench")
        status = package.get("status", {})
        if status.get("phase") == "Succeeded":
            break
        if status.get("phase") in ("Stalled", "Failed", "NeedsReview") or (
            time.monotonic() > deadline
        ):
            raise RuntimeError(f"the package did not succeed: {json.dumps(status)[:2000]}")
        await asyncio.sleep(0.5)
    await asyncio.sleep(3)  # until the last pod's message is there too
    episodes = sorted(_episodes(seen), key=lambda item: item["agentStarted"])
    pairs = list(itertools.pairwise(episodes))
    handovers = [after["agentStarted"] - before["agentEnded"] for before, after in pairs]
    stages = {
        name: [_at(pair, end) - _at(pair, begin) for pair in pairs] for name, begin, end in STAGES
    }
    return handovers, stages


def _episodes(seen: Watching) -> list[dict[str, float]]:
    episodes = []
    for (kind, name), _ in list(seen.objects.items()):
        report = _report(seen.pod_of(name)) if kind == "job" else None
        if report and report.final:
            at = {"jobCreated": seen.first_seen["job", name], "podScheduled": seen.scheduled[name]}
            episodes.append({**report.phases, **at})
    return episodes


def _report(pod: dict[str, Any] | None) -> Report | None:
    for item in (pod or {}).get("status", {}).get("containerStatuses", []):
        if item["name"] == "runner" and "terminated" in item["state"]:
            return report.parse(item["state"]["terminated"]["message"])
    return None


def _at(pair: tuple[dict[str, float], dict[str, float]], name: str) -> float:
    before, after = pair
    return after[name.removeprefix("next.")] if name.startswith("next.") else before[name]


def write(path: Path, document: dict[str, object]) -> None:
    """Write the figures as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")

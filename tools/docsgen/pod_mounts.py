"""The volumes that each container of an episode's pod mounts, from the manifest of the pod.

Owns the description of each volume. The manifest decides which container mounts it.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from afresh.api.agent_class import AgentClass
from afresh.api.work_package import WorkPackage
from afresh.contract import pod_layout as at
from afresh.core.decision import StartEpisode
from afresh.core.observed import Observed
from afresh.core.planner import decide
from afresh.manifests.job import JobParts, build_job

CONTAINERS = (at.RUNNER, at.AGENT, at.VERIFY)
MEANINGS: Mapping[str, str] = {
    "worktree": "the branch's files, where the agent works",
    "home": "HOME of the agent: the brief, settings, state",
    "agent-control": "the FIFOs with which the runner starts and stops the agent",
    "checkout": "a clean checkout of the commit",
    "verify-control": "the FIFOs with which the runner starts and stops verify",
    "podinfo/passwd": "a name and a home for the pod's user",
    "podinfo": "the Order",
    "git": "the trusted git directory",
    "git-secret": "git's credentials",
    "signing-secret": "the key that signs commits",
    "model-secret": "the model's key",
    "ca": "certificates of additional authorities",
    "token": "a token for the operator's report endpoint",
    "git-cache": "the mirror of a large repository",
    "runner-tmp": "temporary files",
    "agent-tmp": "temporary files",
    "agent-shm": "shared memory",
    "verify-home": "HOME of the acceptance command",
    "verify-tmp": "temporary files",
    "verify-shm": "shared memory",
}
_PACKAGE = {
    "metadata": {"name": "demo", "namespace": "team-a", "uid": "uid", "generation": 1},
    "spec": {
        "agentClassName": "claude",
        "repository": {
            "url": "https://git.example.com/team/api.git",
            "secretName": "git-credentials",
            "signing": {"secretName": "signing-key"},
            "cacheClaimName": "mirrors",
        },
        "verify": {"command": ["make", "test"]},
        "subtasks": [{"id": "T001", "prompt": "Do it."}],
    },
}
_CLASS = {
    "metadata": {"name": "claude"},
    "spec": {
        "adapter": "Claude",
        "image": "example.com/agent:1",
        "model": "claude",
        "credentials": {"secretName": "anthropic"},
        "caBundle": {"configMapName": "corporate-ca"},
    },
}


class UnknownVolumeError(ValueError):
    """A volume has no description, or a description has no volume."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """Where one container mounts a volume."""

    path: str
    read_only: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MountRow:
    """One volume, or one file of it, and where each container mounts it."""

    name: str
    meaning: str
    mounts: Mapping[str, Mount]


def rows() -> list[MountRow]:
    """Return all volumes, with the shared ones first. Raises UnknownVolumeError."""
    seen: dict[str, dict[str, Mount]] = {}
    for container, name, mount in _mounts():
        seen.setdefault(name, {})[container] = mount
    if odd := seen.keys() ^ MEANINGS.keys():
        raise UnknownVolumeError(f"pod_mounts.py and the manifest differ in {', '.join(odd)}")
    found = [MountRow(name=name, meaning=MEANINGS[name], mounts=seen[name]) for name in MEANINGS]
    return sorted(
        found, key=lambda row: (-len(row.mounts), sorted(map(CONTAINERS.index, row.mounts)))
    )


def table() -> str:
    """Return the table for docs/security.md and docs/concepts.md."""
    lines = ["| volume | holds | runner | agent | verify |", "|---|---|---|---|---|"]
    for row in rows():
        cells = [_cell(row.mounts.get(name)) for name in CONTAINERS]
        lines.append(f"| `{row.name}` | {row.meaning} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(mount: Mount | None) -> str:
    if mount is None:
        return ""
    return f"`{mount.path}`" + (", read-only" if mount.read_only else "")


def _mounts() -> Iterator[tuple[str, str, Mount]]:
    for container in pod()["containers"]:
        for mount in container["volumeMounts"]:
            name = "/".join(filter(None, (mount["name"], mount.get("subPath", ""))))
            read_only = mount.get("readOnly", False)
            yield container["name"], name, Mount(path=mount["mountPath"], read_only=read_only)


def pod() -> dict[str, Any]:
    """Return the spec of a pod that has all possible volumes."""
    package = WorkPackage.model_validate(_PACKAGE)
    agent_class = AgentClass.model_validate(_CLASS)
    now = datetime(2030, 1, 1, tzinfo=UTC)
    decision = decide(Observed(now=now, package=package, agent_class=agent_class))
    starts = [item for item in decision.actions if isinstance(item, StartEpisode)]
    if not starts:
        raise ValueError("the loop starts no episode of the example")
    parts = JobParts(
        package=package,
        agent_class=agent_class,
        order=starts[0].order,
        attempt=1,
        members=starts[0].members,
        runner_image="example.com/runner:1",
    )
    spec: dict[str, Any] = build_job(parts)["spec"]["template"]["spec"]
    return spec

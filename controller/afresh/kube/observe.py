"""Reads all that one decision rests on into one `Observed`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import TypeVar

from pydantic import ValidationError

from afresh.api.agent_class import AgentClass
from afresh.api.meta import KubernetesObject
from afresh.api.phases import PackagePhase
from afresh.api.subtask import SubtaskObject
from afresh.api.work_package import WorkPackage
from afresh.contract.report import Report
from afresh.core.names import job_name
from afresh.core.observed import Episode, Observed
from afresh.core.settle import IN_EPISODE
from afresh.kube.cache import Cache
from afresh.kube.client import (
    AGENT_CLASSES,
    EVENTS,
    JOBS,
    PODS,
    SUBTASKS,
    WORK_PACKAGES,
    Kube,
    Manifest,
)
from afresh.kube.errors import NotFoundError
from afresh.kube.parse import parse_episode, parse_time
from afresh.kube.queue import Key

# A Job without a started pod tells why only in Events; they are not there at once.
QUIET_START = timedelta(seconds=4)
ENDED = frozenset({PackagePhase.SUCCEEDED, PackagePhase.FAILED, PackagePhase.NEEDS_REVIEW})


K = TypeVar("K", bound=KubernetesObject)


class UnreadableError(Exception):
    """A stored object is not of a form that this version can read; the message says what."""


@dataclass
class Observer:
    """Reads from the cache, and from the API server where only that can tell."""

    kube: Kube
    cache: Cache
    report_url: str | None
    hints: Mapping[str, Report] = field(default_factory=dict)

    async def observe(self, key: Key, *, now: datetime) -> Observed | None:
        """Return what is known of the package now, or None if there is none.

        Raises UnreadableError, and KubeError where the API server had to be asked in vain.
        """
        raw = self.cache.get(WORK_PACKAGES, *key)
        if raw is None:
            return None
        package = parse(WorkPackage, raw)
        return Observed(
            now=now,
            package=package,
            agent_class=self._agent_class(package.spec.agent_class_name),
            rival=self._rival(package),
            subtasks=tuple(
                parse(SubtaskObject, item)
                for item in self.cache.children(SUBTASKS, key)
                if _owned(item, package)
            ),
            episodes=await self._episodes(key, package, now),
            report_url=self.report_url,
        )

    def _agent_class(self, name: str) -> AgentClass | None:
        raw = self.cache.get(AGENT_CLASSES, "", name)
        return parse(AgentClass, raw) if raw else None

    def _rival(self, package: WorkPackage) -> str | None:
        """The older package at work on the same branch, if there is one (S1-11)."""
        mine = _branch_key(package)
        rivals = []
        for raw in self.cache.all(WORK_PACKAGES):
            if raw["metadata"]["uid"] == package.metadata.uid or not _same_url(raw, package):
                continue
            try:
                other = parse(WorkPackage, raw)
            except UnreadableError:
                continue  # it cannot be at work
            if _branch_key(other) == mine and other.status.phase not in ENDED:
                rivals.append(other)
        oldest = min(rivals, key=_age, default=None)
        if oldest is None or _age(package) < _age(oldest):
            return None
        return f"{oldest.metadata.namespace}/{oldest.metadata.name}"

    async def _episodes(self, key: Key, package: WorkPackage, now: datetime) -> tuple[Episode, ...]:
        await self._look_for_lost_jobs(key, package)
        pods = {_controller(pod): pod for pod in self.cache.children(PODS, key)}
        jobs = [job for job in self.cache.children(JOBS, key) if _owned(job, package)]
        return tuple(
            [await self._episode(job, pods.get(job["metadata"]["uid"]), now) for job in jobs]
        )

    async def _episode(self, job: Manifest, pod: Manifest | None, now: datetime) -> Episode:
        uid = job["metadata"]["uid"]
        refusal = await self._refusal(job, pod) if _starts_slowly(job, pod, now) else None
        return parse_episode(job, pod, hint=self.hints.get(uid), refusal=refusal)

    async def _look_for_lost_jobs(self, key: Key, package: WorkPackage) -> None:
        """Make sure that a Job is really gone before that is concluded from the cache."""
        known = {
            job["metadata"]["name"]
            for job in self.cache.children(JOBS, key)
            if _owned(job, package)
        }
        metadata = package.metadata
        for record in package.status.subtasks:
            name = job_name(metadata.name, record.id, record.attempts, metadata.uid)
            if record.phase not in IN_EPISODE or name in known:
                continue
            try:
                job = await self.kube.get(JOBS, key.namespace, name)
            except NotFoundError:
                continue
            self.cache.put(JOBS, job)

    async def _refusal(self, job: Manifest, pod: Manifest | None) -> str | None:
        """The last warning about a Job or pod that has not started; it exists nowhere else."""
        about = pod or job
        events = await self.kube.list_items(
            EVENTS,
            job["metadata"]["namespace"],
            fieldSelector=f"involvedObject.uid={about['metadata']['uid']},type=Warning",
        )
        newest = max(events, key=lambda item: item.get("lastTimestamp") or "", default=None)
        return f"The pod does not start: {newest['message']}" if newest else None


def parse(kind: type[K], raw: Manifest) -> K:
    """Return the object as a `kind`. Raises UnreadableError."""
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        name = raw["metadata"]["name"]
        raise UnreadableError(
            f"The {kind.__name__} {name} cannot be read: {where}: {first['msg']}; correct it."
        ) from error


def _owned(item: Manifest, package: WorkPackage) -> bool:
    return _controller(item) == package.metadata.uid


def _controller(item: Manifest) -> str | None:
    owners = item["metadata"].get("ownerReferences", [])
    return next((owner["uid"] for owner in owners if owner.get("controller")), None)


def _same_url(raw: Manifest, package: WorkPackage) -> bool:
    url = raw.get("spec", {}).get("repository", {}).get("url", "")
    return _plain_url(url) == _plain_url(package.spec.repository.url)


def _branch_key(package: WorkPackage) -> tuple[str, str]:
    return _plain_url(package.spec.repository.url), package.branch


def _plain_url(url: str) -> str:
    return str(url).rstrip("/").removesuffix(".git").lower()


def _age(package: WorkPackage) -> tuple[str, str, str]:
    created = package.metadata.creation_timestamp
    return (
        created.isoformat() if created else "",
        package.metadata.namespace,
        package.metadata.name,
    )


def _starts_slowly(job: Manifest, pod: Manifest | None, now: datetime) -> bool:
    if job["spec"].get("suspend") or job.get("status", {}).get("conditions"):
        return False
    if pod and pod.get("status", {}).get("phase", "Pending") != "Pending":
        return False
    return now - parse_time(job["metadata"]["creationTimestamp"]) > QUIET_START

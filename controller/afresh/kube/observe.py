"""Reads everything that one decision needs, and returns it as one `Observed`."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from afresh.api.agent_class import AgentClass
from afresh.api.package_status import SubtaskRecord
from afresh.api.subtask import SubtaskObject
from afresh.api.work_package import WorkPackage
from afresh.contract.pod_layout import LABEL_PACKAGE
from afresh.contract.report import Report
from afresh.core.history.transitions import IN_EPISODE
from afresh.core.names import job_name, sync_name
from afresh.core.observed import Episode, Member, Observed, SharedLimits
from afresh.kube.cache import OF_PACKAGES, OURS, Cache, has_ended
from afresh.kube.client import Kube
from afresh.kube.errors import UnreadableError
from afresh.kube.isolation import Isolation
from afresh.kube.models import parse
from afresh.kube.parse import (
    attempt_of,
    is_readable,
    members_of,
    parse_episode,
    parse_orphan,
    parse_time,
)
from afresh.kube.queue import Key
from afresh.kube.resources import AGENT_CLASSES, JOBS, PODS, SUBTASKS, WORK_PACKAGES, Manifest
from afresh.kube.shared_limits import shared_limits
from afresh.kube.start_events import StartEvents

POD_ENDS = ("Succeeded", "Failed")


@dataclass
class Observer:
    """Reads from the cache and, for facts that the cache does not have, from the API server."""

    kube: Kube
    cache: Cache
    isolation: Isolation
    report_url: str | None
    report_pins: Callable[[], tuple[str, ...]] = tuple

    def __post_init__(self) -> None:
        self._start_events = StartEvents(self.kube)

    async def observe(self, key: Key, *, now: datetime) -> Observed | None:
        """Return the observation of the package, or None if it does not exist.

        Raises UnreadableError, or KubeError if a request to the API server failed.
        """
        raw = self.cache.get(WORK_PACKAGES, *key)
        if raw is None:
            return None
        package = parse(WorkPackage, raw)
        episodes = await self._episodes(key, package, now)
        agent_class = self._agent_class(package.spec.agent_class_name)
        # There is no await from here to the decision, so shared state cannot change meanwhile.
        return Observed(
            now=now,
            package=package,
            agent_class=agent_class,
            rival=self.cache.branches.rival(*key),
            shared_limits=shared_limits(self.cache, package, agent_class, now)
            if agent_class
            else SharedLimits(),
            subtasks=tuple(
                parse(SubtaskObject, item)
                for item in self.cache.children(SUBTASKS, key)
                if _owned(item, package)
            ),
            episodes=episodes,
            isolated=agent_class is None or self.isolation.holds(key.namespace, agent_class),
            report_url=self.report_url,
            report_pins=self.report_pins(),
        )

    def _agent_class(self, name: str) -> AgentClass | None:
        raw = self.cache.get(AGENT_CLASSES, "", name)
        return parse(AgentClass, raw) if raw else None

    async def _episodes(self, key: Key, package: WorkPackage, now: datetime) -> tuple[Episode, ...]:
        self._refuse_strange_jobs(key, package)
        await self._look_for_lost_jobs(key, package)
        jobs = self._jobs(key, package)
        pods: dict[str, list[Manifest]] = defaultdict(list)
        for pod in self.cache.children(PODS, key):
            pods[str(_controller(pod))].append(pod)
        episodes = [
            await self._episode(
                package, job, self._pod_of(package, job, pods.pop(job["metadata"]["uid"], [])), now
            )
            for job in jobs
        ]
        # A deleted Job's pod may use its grace period; the episode ends with the pod.
        orphans = [
            parse_orphan(pod)
            for left in pods.values()
            for pod in left
            if not self.cache.is_strange(PODS, pod) and (not _has_ended(pod) or is_readable(pod))
        ]
        ours = [item for item in orphans if item and item.name == _name_of(package, item)]
        return (*episodes, *ours)

    def _jobs(self, key: Key, package: WorkPackage) -> list[Manifest]:
        """Return the package's Jobs, without those that have ended and cannot be parsed.

        For such a Job, the record counts; an operator of another version may have created it.
        """
        mine = [
            job
            for job in self.cache.children(JOBS, key)
            if _owned(job, package)
            and not self.cache.is_strange(JOBS, job)
            and _is_named_so(package, job)
        ]
        return [job for job in mine if not has_ended(job) or is_readable(job)]

    def _refuse_strange_jobs(self, key: Key, package: WorkPackage) -> None:
        """Raise UnreadableError if a Job that the operator did not create has the name of its Job.

        Other strange Jobs are ignored.
        """
        running = _running(package)
        if not running:
            return
        strange = [
            job for job in self.cache.children(JOBS, key) if self.cache.is_strange(JOBS, job)
        ]
        if not strange:
            return
        pods = self.cache.children(PODS, key)
        ours = [pod for pod in pods if not self.cache.is_strange(PODS, pod) and is_readable(pod)]
        for item in (*self._jobs(key, package), *ours):
            _take_out(running, item)
        names = _names_of(package)
        for job in strange if running else ():
            if job["metadata"]["name"] in names:
                raise UnreadableError(_not_ours("Job", job))

    def _pod_of(self, package: WorkPackage, job: Manifest, pods: list[Manifest]) -> Manifest | None:
        """Return the Job's pod. Raises UnreadableError if the only pod found is not the Job's."""
        strange = [pod for pod in pods if self.cache.is_strange(PODS, pod)]
        if not strange:
            return _pod_of(job, pods)
        found = _pod_of(job, [pod for pod in pods if pod not in strange])
        taken = _pod_of(job, strange)
        # The Job controller counts any matching pod, so the Job may end while its own pod still
        # works.
        is_certain = found and (_has_ended(found) or not has_ended(job))
        if is_certain or taken is None:
            return found
        if _unrecorded(package, parse_episode(job, None, hint=None, refusal=None)):
            raise UnreadableError(_not_ours("pod", taken))
        return found

    async def _episode(
        self, package: WorkPackage, job: Manifest, pod: Manifest | None, now: datetime
    ) -> Episode:
        refusal = await self._start_events.refusal(job, pod, now)
        hint = self._hint(job, pod)
        episode = parse_episode(job, pod, hint=hint, refusal=refusal)
        if not (episode.finished and _unrecorded(package, episode)) or _has_final_report(episode):
            return episode
        # Jobs and pods come by separate watches: make sure that the pod's end has been seen. The
        # Job controller takes in whatever pod has the label that it selects by, whoever made it.
        found = await self.kube.list_items(
            PODS,
            job["metadata"]["namespace"],
            labelSelector=f"{OF_PACKAGES},batch.kubernetes.io/controller-uid={episode.uid}",
        )
        for fresh in found:
            self.cache.put(PODS, fresh)
        fresh_pod = self._pod_of(package, job, found)
        return parse_episode(job, fresh_pod, hint=hint, refusal=refusal)

    def _hint(self, job: Manifest, pod: Manifest | None) -> Report | None:
        """Return the hint of this pod's runner; a Job that still runs may have a new pod."""
        if pod is None and not has_ended(job):
            return None
        return self.cache.hint(job["metadata"]["uid"], pod["metadata"]["uid"] if pod else None)

    async def _look_for_lost_jobs(self, key: Key, package: WorkPackage) -> None:
        """Ask the API server whether a Job and its pod that the cache lacks are really gone."""
        running = _running(package)
        if not running:
            return
        for job in self._jobs(key, package):
            _take_out(running, job)
        if not running:
            return
        ours = f"{LABEL_PACKAGE}={key.name},{OURS}"
        for kind in (JOBS, PODS):
            for found in await self.kube.list_items(kind, key.namespace, labelSelector=ours):
                self.cache.put(kind, found)


def _running(package: WorkPackage) -> dict[str, int]:
    """Return the attempts of the subtasks that, by their records, are in an episode."""
    return {r.id: r.attempts for r in package.status.subtasks if r.phase in IN_EPISODE}


def _take_out(running: dict[str, int], item: Manifest) -> None:
    """Remove from `running` the attempts whose Job or pod this is."""
    for member in members_of(item):
        if running.get(member.subtask) == member.attempt:
            del running[member.subtask]


def _names_of(package: WorkPackage) -> set[str]:
    """Return the names of the last attempts' Jobs. A batch's Job has its first subtask's name."""
    metadata = package.metadata
    return {
        job_name(metadata.name, record.id, record.attempts, metadata.uid)
        for record in package.status.subtasks
    }


def _not_ours(kind: str, item: Manifest) -> str:
    return (
        f"The {kind} {item['metadata']['name']} is not as the operator made it, so its result does "
        "not count and nothing starts; delete it, or undo what changed it."
    )


def _owned(item: Manifest, package: WorkPackage) -> bool:
    return _controller(item) == package.metadata.uid


def _controller(item: Manifest) -> str | None:
    owners = item["metadata"].get("ownerReferences", [])
    return next((owner["uid"] for owner in owners if owner.get("controller")), None)


def _pod_of(job: Manifest, pods: list[Manifest]) -> Manifest | None:
    """Return the Job's pod, ignoring pods of an earlier run that a queue has ended."""
    current = [pod for pod in pods if not _is_of_former_run(pod, job)]
    return max(current, key=lambda pod: str(pod["metadata"]["creationTimestamp"]), default=None)


def _is_of_former_run(pod: Manifest, job: Manifest) -> bool:
    """Whether the Job was suspended and resumed since the pod was created."""
    if "deletionTimestamp" not in pod["metadata"] or job["spec"].get("suspend") or has_ended(job):
        return False
    since = job.get("status", {}).get("startTime")
    return not since or parse_time(pod["metadata"]["creationTimestamp"]) < parse_time(since)


def _has_ended(pod: Manifest) -> bool:
    return pod.get("status", {}).get("phase") in POD_ENDS


def _has_final_report(episode: Episode) -> bool:
    return episode.report is not None and episode.report.final


def _unrecorded(package: WorkPackage, episode: Episode) -> bool:
    """Whether a record lacks this episode's end."""
    if not episode.members:
        sync = package.status.plan_sync
        return sync is None or episode.attempt > sync.attempts
    records = {item.id: item for item in package.status.subtasks}
    return any(_waits(records.get(member.subtask), member) for member in episode.members)


def _waits(record: SubtaskRecord | None, member: Member) -> bool:
    if record is None:
        return True
    running = record.phase in IN_EPISODE and member.attempt == record.attempts
    return running or member.attempt > record.attempts


def _is_named_so(package: WorkPackage, job: Manifest) -> bool:
    """Whether the Job's name is that of its episode. A Job without an episode is handled elsewhere.

    A copy of a Job of an earlier package with the same name has another name.
    """
    if not is_readable(job):
        return True
    members, attempt = members_of(job), attempt_of(job)
    return bool(job["metadata"]["name"] == _name(package, members, attempt))


def _name_of(package: WorkPackage, episode: Episode) -> str:
    return _name(package, episode.members, episode.attempt)


def _name(package: WorkPackage, members: tuple[Member, ...], attempt: int) -> str:
    metadata = package.metadata
    if not members:
        return sync_name(metadata.name, attempt, metadata.uid)
    first = members[0]
    return job_name(metadata.name, first.subtask, first.attempt, metadata.uid)

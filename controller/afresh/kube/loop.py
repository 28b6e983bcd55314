"""One step of the loop for one package: observe, decide, apply, write status, write Events."""

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from afresh.api.meta import ApiModel, KubernetesObject
from afresh.contract.stable_words import steady
from afresh.core.decision import (
    Action,
    CreateSubtask,
    Decision,
    Note,
    OpenGate,
    StartEpisode,
    StartSync,
)
from afresh.core.names import subtask_name
from afresh.core.observed import Observed
from afresh.core.planner import decide
from afresh.core.reasons import Reason
from afresh.core.status import (
    first_status,
    package_status,
    subtask_statuses,
    unreadable_status,
)
from afresh.kube.apply import Applier
from afresh.kube.cache import Cache
from afresh.kube.client import Kube
from afresh.kube.errors import KubeError, RefusedError, UnavailableError, UnreadableError
from afresh.kube.events import write_event
from afresh.kube.observe import Observer
from afresh.kube.queue import Key
from afresh.kube.resources import SUBTASKS, WORK_PACKAGES, Resource
from afresh.kube.shared_limits import next_in_line
from afresh.logs import get_logger
from afresh.metrics import episodes, registry

log = get_logger()
MANY = 20
"""More Subtasks than this take seconds to create; the package gets a first status before that."""
WAITING_IN_LINE = frozenset({Reason.CLASS_BUSY, Reason.GATE_CLOSED})


@dataclass
class Loop:
    """The loop's body. All state is in the cluster; there is no state between steps."""

    kube: Kube
    cache: Cache
    observer: Observer
    applier: Applier
    wake: Callable[[Key], None]
    _telling: set[asyncio.Task[None]] = field(default_factory=set)

    async def step(self, key: Key, *, now: datetime) -> timedelta | None:
        """Take one step towards the desired state of the package; return when to look again.

        Raises KubeError if an action failed; the status is written in any case.
        """
        if key.namespace in self.cache.unlisted:
            return None
        try:
            seen = await self.observer.observe(key, now=now)
        except UnreadableError as error:
            await self._say_unreadable(key, str(error), now)
            return None
        if seen is None:
            return None
        decision = decide(seen)
        # Children first: the history of episodes is written into them.
        missing = [item for item in decision.actions if isinstance(item, CreateSubtask)]
        is_announced = len(missing) > MANY and seen.package.status.phase is None
        if is_announced:
            await self._replace_status(WORK_PACKAGES, seen.package, first_status(seen))
        failures = _Failures()
        await self._apply(seen, missing, failures)
        tried = missing
        if is_announced or (missing and not failures.any):
            seen = await self.observer.observe(key, now=now) or seen
            decision, tried = decide(seen), []
        # There was no await since the decision, so no other step has claimed the same.
        with self._claimed(seen, decision):
            left = [item for item in decision.actions if item not in tried]
            await self._apply(seen, left, failures)
        if failures.passing:
            raise failures.passing
        failure = failures.refusal
        if failure:
            seen, decision = _without_starts(seen, failure)
        await self._write(seen, decision)
        _log(decision, failure)
        if isinstance(failure, UnavailableError):
            raise failure
        return decision.recheck_after

    def _wake_others(self, seen: Observed, decision: Decision) -> None:
        """Wake the packages that wait for what this step has changed."""
        for action in decision.actions:
            if isinstance(action, OpenGate):
                wait = action.wait
                gate = (seen.package.metadata.namespace, wait.cause, wait.key)
                for key in self.cache.waits.waiting(gate):
                    self.wake(key)
        started = any(isinstance(item, StartEpisode) for item in decision.actions)
        before = seen.package.status.reason
        left = before in WAITING_IN_LINE and before != decision.reason
        if not (decision.attempt_results or started or left):
            return
        namespace, class_name = _key(seen).namespace, seen.package.spec.agent_class_name
        for key in next_in_line(self.cache, namespace, class_name):
            self.wake(key)

    @contextlib.contextmanager
    def _claimed(self, seen: Observed, decision: Decision) -> Iterator[None]:
        """Make Jobs that are being created visible in the observations of other packages."""
        starts = [item for item in decision.actions if isinstance(item, StartEpisode | StartSync)]
        jobs = [self.applier.job_of(seen, action) for action in starts]
        claims = {job["metadata"]["name"]: job for job in jobs}
        self.cache.claims.update(claims)
        try:
            yield
        finally:
            for name in claims:
                del self.cache.claims[name]

    async def _apply(
        self, seen: Observed, actions: Iterable[Action], failures: "_Failures"
    ) -> None:
        """Try every action and record what failed; after the first failure, nothing is started.

        If the server is unavailable, a start counts as refused: a webhook can be down for long.
        """
        for action in actions:
            starts = isinstance(action, StartEpisode | StartSync)
            if starts and failures.any:
                continue
            try:
                await self.applier.apply(seen, action)
            except RefusedError as error:
                failures.refusal = failures.refusal or error
            except KubeError as error:
                if starts and isinstance(error, UnavailableError):
                    failures.refusal = error
                else:
                    failures.passing = failures.passing or error

    async def _write(self, seen: Observed, decision: Decision) -> None:
        """Write the status, only if the objects still have the versions that were observed.

        The history is written first: it is appended by attempt, so that it can be written twice. A
        package without records has no history yet.
        """
        is_new = not seen.package.status.subtasks and not decision.attempt_results
        if is_new:
            await self._write_package(seen, decision)
        children = {child.metadata.name: child for child in seen.subtasks}
        for name, child in subtask_statuses(seen, decision).items():
            await self._replace_status(SUBTASKS, children[name], child)
        if not is_new:
            await self._write_package(seen, decision)

    async def _write_package(self, seen: Observed, decision: Decision) -> None:
        """Write the package's status, and at once its Events: the decision is not made again."""
        status = package_status(seen, decision)
        if status != seen.package.status:
            await self._replace_status(WORK_PACKAGES, seen.package, status)
            episodes.record(seen, decision)
        self._tell(seen, decision)
        self._wake_others(seen, decision)

    async def _replace_status(
        self, kind: Resource, observed: KubernetesObject, status: ApiModel
    ) -> None:
        metadata = observed.metadata
        version = {
            "name": metadata.name,
            "namespace": metadata.namespace,
            "resourceVersion": metadata.resource_version,
        }
        made = await self.kube.replace_part(
            kind, {"metadata": version}, "status", status.to_manifest()
        )
        self.cache.put(kind, made)

    async def _say_unreadable(self, key: Key, message: str, now: datetime) -> None:
        """Write Stalled for a package that cannot be read, because the core cannot decide on it."""
        raw = self.cache.get(WORK_PACKAGES, *key)
        old = raw.get("status", {}) if raw else {}
        said = {item.get("message") for item in old.get("conditions", [])}
        if raw is None or (old.get("reason") == Reason.INVALID_SPEC and said == {message}):
            return
        status = {**old, **unreadable_status(raw["metadata"]["generation"], message, now)}
        self.cache.put(
            WORK_PACKAGES, await self.kube.replace_part(WORK_PACKAGES, raw, "status", status)
        )

    def _tell(self, seen: Observed, decision: Decision) -> None:
        """Write Events in the background: nothing waits for them, and they may be lost."""
        for note in decision.notes:
            task = asyncio.create_task(self._write_event(seen, note))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def _write_event(self, seen: Observed, note: Note) -> None:
        package = self.cache.get(WORK_PACKAGES, *_key(seen))
        child = None
        if note.subtask:
            name = subtask_name(seen.package.metadata.name, note.subtask)
            child = self.cache.get(SUBTASKS, seen.package.metadata.namespace, name)
        if package is None:
            return
        try:
            await write_event(self.kube, package, note, seen.now, related=child)
        except KubeError as error:
            registry.EVENTS_LOST.inc()
            log.warning("event_lost", reason=note.reason, error=str(error))


@dataclass
class _Failures:
    """What failed in one step.

    `refusal`: the API server refused an action; the status shows it. `passing`: a conflict, or a
    server that does not answer; it is not recorded, and the step is repeated later.
    """

    refusal: KubeError | None = None
    passing: KubeError | None = None

    @property
    def any(self) -> bool:
        """Whether anything failed."""
        return bool(self.refusal or self.passing)


def _without_starts(seen: Observed, failure: KubeError) -> tuple[Observed, Decision]:
    """Decide again without starts, so that the status does not claim what was not created."""
    known = replace(seen, obstacle=steady(str(failure)))
    return known, decide(known)


def _key(seen: Observed) -> Key:
    return Key(seen.package.metadata.namespace, seen.package.metadata.name)


def _log(decision: Decision, failure: KubeError | None) -> None:
    if not decision.actions and not decision.attempt_results and failure is None:
        return
    log.info(
        "decided",
        phase=str(decision.phase),
        reason=str(decision.reason),
        actions=[type(action).__name__ for action in decision.actions],
        started=[item.order.episode for item in decision.actions if isinstance(item, StartEpisode)],
        ended={item.episode.name: str(item.ended.outcome) for item in decision.attempt_results},
        error=str(failure) if failure else None,
    )

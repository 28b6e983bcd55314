"""The log of one episode: from its pod for as long as that is there, else what the status keeps.

The runner prints what the agent and the commands say, so its container's log is the whole one.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from enum import StrEnum

from afresh.cli.look.episode_choice import Chosen
from afresh.cli.printable import plain_line
from afresh.cli.requests import CommandError
from afresh.contract.pod_layout import RUNNER
from afresh.kube.cache import OF_PACKAGES
from afresh.kube.client import Kube
from afresh.kube.errors import NotFoundError, RefusedError, UnavailableError
from afresh.kube.resources import PODS, Manifest

JOB_NAME = "batch.kubernetes.io/job-name"
POLL_SECONDS = 0.5
TRIES = 5
# Of a log that is not followed all lines are there already.
SILENCE_SECONDS = 30


class Source(StrEnum):
    """Where the lines come from."""

    LIVE = "Live"
    POD = "Pod"
    STATUS = "Status"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeLog:
    """One log: a sentence that says plainly what it is, and its lines."""

    source: Source
    about: str
    lines: AsyncIterator[str]


@dataclass(frozen=True, slots=True)
class LogReader:
    """Finds the logs of a package's episodes."""

    kube: Kube
    namespace: str

    async def open(self, item: Chosen, newest: Callable[[], Chosen], *, follow: bool) -> EpisodeLog:
        """Return the log of an episode; with `follow`, as soon as there is one, until it ends.

        `newest` returns what is known now of the episode. Raises CommandError where there is
        nothing to show.
        """
        why = "its pod is gone"
        while True:
            try:
                pod = await self._pod(item)
                if pod and _has_begun(pod):
                    return await self._from_pod(item, pod, follow=follow)
            except (RefusedError, NotFoundError, UnavailableError) as error:
                if not newest().ended:
                    raise
                pod, why = None, f"its pod cannot be read ({plain_line(str(error))})"
            if pod is None and newest().ended:
                return _kept(newest(), why)
            if not follow:
                waits = "has not started" if pod else "is not there yet"
                raise CommandError(f"{_name(item)} has no log yet: its pod {waits}.")
            await asyncio.sleep(POLL_SECONDS)

    async def _pod(self, item: Chosen) -> Manifest | None:
        job = item.attempt.job_name
        if not job:
            return None
        selector = f"{OF_PACKAGES},{JOB_NAME}={job}"
        pods = await self.kube.list_items(PODS, self.namespace, labelSelector=selector)
        return max(pods, key=lambda pod: str(pod["metadata"]["creationTimestamp"]), default=None)

    async def _from_pod(self, item: Chosen, pod: Manifest, *, follow: bool) -> EpisodeLog:
        name = pod["metadata"]["name"]
        source = Source.LIVE if "running" in _runner(pod)["state"] else Source.POD
        which = "live from" if source is Source.LIVE else "the whole log of"
        lines = self._lines(name, follow=follow)
        # Whoever may not read logs learns it here.
        first = await anext(lines, None)
        return EpisodeLog(
            source=source,
            about=f"{_name(item)}: {which} the pod {name}",
            lines=_chained(first, lines),
        )

    async def _lines(self, pod: str, *, follow: bool) -> AsyncIterator[str]:
        """Yield the lines of the runner's log; a lost connection is made again."""
        query = {"container": RUNNER} | ({"follow": "true"} if follow else {})
        path = PODS.path(self.namespace, pod, "log")
        known = 0
        for last in (False,) * (TRIES - 1) + (True,):
            number = 0
            try:
                async with contextlib.aclosing(self.kube.lines(path, query)) as lines:
                    async for text in _each_within(None if follow else SILENCE_SECONDS, lines):
                        number += 1
                        if number > known:
                            known = number
                            yield text
            except UnavailableError:
                if last:
                    raise
                await asyncio.sleep(POLL_SECONDS)
            else:
                return


async def _each_within(seconds: float | None, lines: AsyncIterator[str]) -> AsyncIterator[str]:
    """Yield the lines. Raises UnavailableError if one takes longer than that to come."""
    while True:
        try:
            async with asyncio.timeout(seconds):
                text = await anext(lines)
        except StopAsyncIteration:
            return
        except TimeoutError:
            raise UnavailableError(f"the log has gone silent for {seconds:.0f} seconds") from None
        yield text


def _has_begun(pod: Manifest) -> bool:
    state = _runner(pod).get("state", {})
    return "running" in state or "terminated" in state


def _runner(pod: Manifest) -> Manifest:
    statuses = pod.get("status", {}).get("containerStatuses", [])
    found: Manifest = next((item for item in statuses if item["name"] == RUNNER), {})
    return found


def _kept(item: Chosen, why: str) -> EpisodeLog:
    tail = item.attempt.log_tail.splitlines()
    what = "these are the last lines, kept in the status" if tail else "the status keeps no line"
    return EpisodeLog(
        source=Source.STATUS,
        about=f"{_name(item)}, ended with {item.attempt.outcome}: {why}; {what}",
        lines=_chained(None, _each(tail)),
    )


def _name(item: Chosen) -> str:
    others = f" with {', '.join(item.others)}" if item.others else ""
    return f"{item.subtask}, attempt {item.attempt.number}{others}"


async def _each(lines: list[str]) -> AsyncIterator[str]:
    for text in lines:
        yield text


async def _chained(first: str | None, rest: AsyncIterator[str]) -> AsyncIterator[str]:
    if first is not None:
        yield first
    async for text in rest:
        yield text

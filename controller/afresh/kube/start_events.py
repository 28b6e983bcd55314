"""Finds why a Job or a pod does not start, if only Events show it.

This module owns when Events are read: not at all if the status of the Job or the pod shows the
cause, otherwise a few times with growing pauses. It must be used within one event loop.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from afresh.contract.stable_words import steady
from afresh.kube.cache import has_ended
from afresh.kube.client import Kube
from afresh.kube.parse import parse_time
from afresh.kube.resources import EVENTS, Manifest

# Events are written with a delay.
FIRST_PAUSE = timedelta(seconds=4)
LONGEST_PAUSE = timedelta(seconds=600)
# The kubelet's reasons for a container that it has not begun to start.
SAYS_NOTHING = frozenset({"", "ContainerCreating", "PodInitializing"})
MOST_KEPT = 10_000


@dataclass(slots=True)
class _Look:
    """When the Events about one object are read again, and the last warning in them."""

    again: datetime
    pause: timedelta
    said: str | None = None


class StartEvents:
    """The last warning about each Job or pod that has not started."""

    def __init__(self, kube: Kube) -> None:
        self._kube = kube
        self._looks: dict[str, _Look] = {}

    async def refusal(self, job: Manifest, pod: Manifest | None, now: datetime) -> str | None:
        """Return the last warning that keeps the Job from starting. Raises KubeError."""
        about = pod or job
        uid = about["metadata"]["uid"]
        if not _is_silent(job, pod):
            self._looks.pop(uid, None)
            return None
        look = self._looks.get(uid)
        if look is None:
            made = parse_time(about["metadata"]["creationTimestamp"])
            look = self._looks[uid] = _Look(again=made + FIRST_PAUSE, pause=FIRST_PAUSE)
            self._forget_some()
        if now >= look.again:
            look.said = await self._read(job["metadata"]["namespace"], uid)
            look.pause = min(look.pause * 3, LONGEST_PAUSE)
            look.again = now + look.pause
        return look.said

    async def _read(self, namespace: str, uid: str) -> str | None:
        events = await self._kube.list_items(
            EVENTS, namespace, fieldSelector=f"involvedObject.uid={uid},type=Warning"
        )
        newest = max(events, key=lambda item: item.get("lastTimestamp") or "", default=None)
        return steady(newest["message"]) if newest else None

    def _forget_some(self) -> None:
        """Drop the entries of Jobs that no longer exist."""
        while len(self._looks) > MOST_KEPT:
            del self._looks[next(iter(self._looks))]


def _is_silent(job: Manifest, pod: Manifest | None) -> bool:
    """Whether the Job should have a started pod, but neither status shows why it has none."""
    if job["spec"].get("suspend") or has_ended(job) or job.get("status", {}).get("conditions"):
        return False
    if pod is None:
        return True
    status = pod.get("status", {})
    if status.get("phase", "Pending") != "Pending":
        return False
    conditions = {item["type"]: item["status"] for item in status.get("conditions", [])}
    if conditions.get("PodScheduled") == "False":
        return False
    waiting = [item.get("state", {}).get("waiting") for item in status.get("containerStatuses", [])]
    return all(item.get("reason", "") in SAYS_NOTHING for item in waiting if item is not None)

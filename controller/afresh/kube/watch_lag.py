"""Records changes that a list has shown and the watch has not: they show that a watch is stuck.

A silent watch proves nothing: a healthy one is silent if nothing changes, or while the API server
is unreachable. Only a later list with the same change proves that the watch could have reported it.
This module must be used within one event loop.
"""

from dataclasses import dataclass

from afresh import clock
from afresh.kube.resources import Manifest, Resource

LATE_SECONDS = 120.0


@dataclass(slots=True)
class _Debt:
    """A version that the watch has not reported, since when, and how long lists have shown it."""

    version: int
    since: float
    seconds: float = 0.0


class WatchLag:
    """The changes that the watch has not reported, by kind and object."""

    def __init__(self) -> None:
        self._owed: dict[Resource, dict[str, _Debt]] = {}

    def listed(self, kind: Resource, body: Manifest, known: Manifest | None) -> None:
        """Record an object of a list; `known` is the newest version known before."""
        version, uid, now = version_of(body), body["metadata"]["uid"], clock.elapsed()
        owed = self._owed.setdefault(kind, {})
        if uid in owed:
            owed[uid].seconds = now - owed[uid].since
        elif known is None or version_of(known) < version:
            owed[uid] = _Debt(version, since=now)

    def reported(self, kind: Resource, change: str | None, body: Manifest) -> None:
        """Record an event of the watch."""
        owed = self._owed.get(kind, {})
        uid = body["metadata"]["uid"]
        if uid in owed and (change == "DELETED" or owed[uid].version <= version_of(body)):
            del owed[uid]

    def retain(self, kind: Resource, uids: set[str]) -> None:
        """Remove the objects that are not in `uids`."""
        owed = self._owed.get(kind, {})
        self._owed[kind] = {uid: owed[uid] for uid in owed if uid in uids}

    def excuse(self) -> None:
        """Restart all times: a list failed, so the watch could not have reported either."""
        now = clock.elapsed()
        for owed in self._owed.values():
            for debt in owed.values():
                debt.since, debt.seconds = now, 0.0

    def owes(self) -> bool:
        """Whether any change is unreported, even if only for a short time."""
        return any(self._owed.values())

    def late(self, seconds: float = LATE_SECONDS) -> str | None:
        """Return a sentence if a watch is late by more than `seconds`, else None."""
        for kind, owed in self._owed.items():
            if any(debt.seconds > seconds for debt in owed.values()):
                return f"the watch of {kind.plural} does not report changes that a list has shown"
        return None


def version_of(body: Manifest) -> int:
    """Return an object's resource version; those of one kind compare as numbers (KEP-5504)."""
    return int(body["metadata"].get("resourceVersion", 0))

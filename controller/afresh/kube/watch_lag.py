"""Records changes that a list has shown and the watch has not: the sign of a stuck watch.

Silence proves nothing: a healthy watch is silent if nothing changes, or while the API server is
unreachable. Only a later list that shows the same change proves that the watch could have reported
it. For use within one event loop.
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

    def told(self, kind: Resource, change: str | None, body: Manifest) -> None:
        """Record what the watch reports."""
        owed = self._owed.get(kind, {})
        uid = body["metadata"]["uid"]
        if uid in owed and (change == "DELETED" or owed[uid].version <= version_of(body)):
            del owed[uid]

    def retain(self, kind: Resource, uids: set[str]) -> None:
        """Forget the objects that are gone."""
        owed = self._owed.get(kind, {})
        self._owed[kind] = {uid: owed[uid] for uid in owed if uid in uids}

    def excuse(self) -> None:
        """Restart all times: a list failed, so the watch could not have reported either."""
        now = clock.elapsed()
        for owed in self._owed.values():
            for debt in owed.values():
                debt.since, debt.seconds = now, 0.0

    def owes(self) -> bool:
        """Whether any change is unreported, however short the time."""
        return any(self._owed.values())

    def late(self, seconds: float = LATE_SECONDS) -> str | None:
        """Return the kind whose watch is late by more than the limit; None: none is."""
        for kind, owed in self._owed.items():
            if any(debt.seconds > seconds for debt in owed.values()):
                return f"the watch of {kind.plural} does not tell what a list has shown"
        return None


def version_of(body: Manifest) -> int:
    """Return an object's resource version; those of one kind compare as numbers (KEP-5504)."""
    return int(body["metadata"].get("resourceVersion", 0))

"""Notes what lists have shown and the watch has not told yet: the sign of a watch that is stuck.

A watch on which nothing happens is silent and well, so silence proves nothing; nor does it while
the API server is out of reach. Only a later list that shows the same proves that the watch could
have told. For use within one event loop.
"""

from dataclasses import dataclass

from afresh import clock
from afresh.kube.client import Manifest, Resource

LATE_SECONDS = 120.0


@dataclass(slots=True)
class _Debt:
    """A version of an object, since when it is owed, and for how long lists have shown so."""

    version: int
    since: float
    seconds: float = 0.0


class WatchLag:
    """Changes that the watch owes, by kind and object."""

    def __init__(self) -> None:
        self._owed: dict[Resource, dict[str, _Debt]] = {}

    def listed(self, kind: Resource, body: Manifest, known: Manifest | None) -> None:
        """Take in an object of a list; `known` is the newest version that was known before."""
        version, uid, now = version_of(body), body["metadata"]["uid"], clock.elapsed()
        owed = self._owed.setdefault(kind, {})
        if uid in owed:
            owed[uid].seconds = now - owed[uid].since
        elif known is None or version_of(known) < version:
            owed[uid] = _Debt(version, since=now)

    def told(self, kind: Resource, change: str | None, body: Manifest) -> None:
        """Take in what the watch tells."""
        owed = self._owed.get(kind, {})
        uid = body["metadata"]["uid"]
        if uid in owed and (change == "DELETED" or owed[uid].version <= version_of(body)):
            del owed[uid]

    def retain(self, kind: Resource, uids: set[str]) -> None:
        """Forget what is owed about objects that are gone."""
        owed = self._owed.get(kind, {})
        self._owed[kind] = {uid: owed[uid] for uid in owed if uid in uids}

    def excuse(self) -> None:
        """Count anew from now: nobody has answered a list, so a watch could not tell either."""
        now = clock.elapsed()
        for owed in self._owed.values():
            for debt in owed.values():
                debt.since, debt.seconds = now, 0.0

    def owes(self) -> bool:
        """Whether the watch owes anything, however short the time."""
        return any(self._owed.values())

    def late(self, seconds: float = LATE_SECONDS) -> str | None:
        """Return which watch owes something for longer, as lists have shown; None: none."""
        for kind, owed in self._owed.items():
            if any(debt.seconds > seconds for debt in owed.values()):
                return f"the watch of {kind.plural} does not tell what a list has shown"
        return None


def version_of(body: Manifest) -> int:
    """Return an object's resource version; those of one kind compare as numbers (KEP-5504)."""
    return int(body["metadata"].get("resourceVersion", 0))

"""Notes what lists have shown and the watch has not told yet: the sign of a watch that is stuck.

A watch on which nothing happens is silent and well, so silence proves nothing. For use within one
event loop.
"""

from afresh import clock
from afresh.kube.client import Manifest, Resource

LATE_SECONDS = 120.0


class Missed:
    """Changes that the watch owes, by kind and object."""

    def __init__(self) -> None:
        self._owed: dict[Resource, dict[str, tuple[int, float]]] = {}

    def listed(self, kind: Resource, body: Manifest, known: Manifest | None) -> None:
        """Take in an object of a list; `known` is the newest version that was known before."""
        version, uid = version_of(body), body["metadata"]["uid"]
        if known is None or version_of(known) < version:
            self._owed.setdefault(kind, {}).setdefault(uid, (version, clock.elapsed()))

    def told(self, kind: Resource, change: str | None, body: Manifest) -> None:
        """Take in what the watch tells."""
        owed = self._owed.get(kind, {})
        uid = body["metadata"]["uid"]
        if uid in owed and (change == "DELETED" or owed[uid][0] <= version_of(body)):
            del owed[uid]

    def retain(self, kind: Resource, uids: set[str]) -> None:
        """Forget what is owed about objects that are gone."""
        owed = self._owed.get(kind, {})
        self._owed[kind] = {uid: owed[uid] for uid in owed if uid in uids}

    def late(self, seconds: float = LATE_SECONDS) -> str | None:
        """Return which watch owes a change for longer than that, as a sentence; None: none."""
        latest = clock.elapsed() - seconds
        for kind, owed in self._owed.items():
            if any(noted < latest for _, noted in owed.values()):
                return f"the watch of {kind.plural} does not tell what a list has shown"
        return None


def version_of(body: Manifest) -> int:
    """Return an object's resource version; those of one kind compare as numbers (KEP-5504)."""
    return int(body["metadata"].get("resourceVersion", 0))

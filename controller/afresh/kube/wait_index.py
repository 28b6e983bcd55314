"""An index of the closed gates of shared causes, from the statuses of the packages that wait.

This module owns the index by namespace, cause and key, so that no step reads all packages. It
remembers that a gate was opened until the waiting packages have written it; if the process dies
before, the gate stays closed until the next try. It must be used within one event loop.
"""

from dataclasses import dataclass, field
from datetime import datetime

from pydantic import ValidationError

from afresh.api.package_status import SharedWait
from afresh.core.history.shared_causes import Cause, Refusal
from afresh.kube.queue import Key
from afresh.kube.resources import Manifest

Gate = tuple[str, str, str]
"""Namespace, cause and key."""


@dataclass(slots=True)
class _Closed:
    """One gate: the packages that wait for it, the longest wait, and the Jobs that try it.

    `over` are the start times of waits that are over, even if a status still has them. Only exact
    times are compared: after a clock was set back, new waits begin earlier and are not over.
    `hurried`: the gate may be tried before its time.
    """

    waits: dict[Key, SharedWait] = field(default_factory=dict)
    longest: SharedWait | None = None
    holders: dict[Key, str] = field(default_factory=dict)
    over: frozenset[datetime] = frozenset()
    hurried: bool = False

    def put(self, package: Key, wait: SharedWait) -> None:
        """Add or update one package's wait."""
        was_longest = self.longest is not None and self.waits.get(package) == self.longest
        self.waits[package] = wait
        self.holders.pop(package, None)
        if wait.episode:
            self.holders[package] = wait.episode
        if self._is_over(wait):
            return
        if self.longest is None or _length(wait) >= _length(self.longest):
            self.hurried = self.hurried and self.longest is not None and wait == self.longest
            self.longest = wait
        elif was_longest:
            self._look_for_longest()

    def drop(self, package: Key) -> None:
        """Remove one package's wait."""
        wait = self.waits.pop(package)
        self.holders.pop(package, None)
        if wait == self.longest:
            self._look_for_longest()

    def open(self, since: datetime) -> None:
        """Mark as over the known waits and those that began at `since`."""
        self.over = frozenset({since, *(wait.since for wait in self.waits.values())})
        self._look_for_longest()

    def _look_for_longest(self) -> None:
        left = [wait for wait in self.waits.values() if not self._is_over(wait)]
        self.longest = max(left, key=_length, default=None)

    def _is_over(self, wait: SharedWait) -> bool:
        return wait.since in self.over


def _length(wait: SharedWait) -> tuple[datetime, int]:
    return wait.until, wait.step


class WaitIndex:
    """The waits of all packages, by gate."""

    def __init__(self) -> None:
        self._at: dict[Gate, _Closed] = {}
        self._of: dict[Key, Gate] = {}

    def put(self, package: Key, body: Manifest) -> None:
        """Add or update the wait in a package's status."""
        wait = _wait_in(body)
        gate = (package.namespace, wait.cause, wait.key) if wait else None
        if self._of.get(package, gate) != gate or wait is None:
            self.drop(package)
        if wait and gate:
            self._at.setdefault(gate, _Closed()).put(package, wait)
            self._of[package] = gate

    def drop(self, package: Key) -> None:
        """Remove the package's wait."""
        gate = self._of.pop(package, None)
        if gate is None:
            return
        self._at[gate].drop(package)
        if not self._at[gate].waits:
            del self._at[gate]

    def closed(self, gate: Gate) -> SharedWait | None:
        """Return the wait of the package that has waited longest; None: the gate is open."""
        found = self._at.get(gate)
        if found is None or found.longest is None:
            return None
        if found.hurried:
            return found.longest.model_copy(update={"until": found.longest.since})
        return found.longest

    def holders(self, gate: Gate) -> list[str]:
        """Return the Jobs that, by the statuses, wait at the gate or try it."""
        found = self._at.get(gate)
        return list(found.holders.values()) if found else []

    def waiting(self, gate: Gate) -> list[Key]:
        """Return the packages that wait for the gate, in the order of their names."""
        found = self._at.get(gate)
        return sorted(found.waits) if found else []

    def waiting_with(self, package: Key) -> list[Key]:
        """Return the packages that wait for the same gate as `package`, if it waits for one."""
        gate = self._of.get(package)
        return self.waiting(gate) if gate else []

    def open(self, namespace: str, wait: SharedWait) -> None:
        """Mark the gate as open, even while statuses of packages not yet woken say otherwise."""
        found = self._at.get((namespace, wait.cause, wait.key))
        if found:
            found.open(wait.since)

    def hurry(self, namespace: str) -> list[Key]:
        """Allow a try of the quota now, as an episode has ended; return the packages to wake."""
        gate = (namespace, str(Cause.REFUSAL), str(Refusal.QUOTA))
        if gate not in self._at:
            return []
        self._at[gate].hurried = True
        return self.waiting(gate)


def _wait_in(body: Manifest) -> SharedWait | None:
    raw = body.get("status", {}).get("wait")
    try:
        return SharedWait.model_validate(raw) if raw else None
    except ValidationError:
        return None  # written by another version; the package's next step replaces it

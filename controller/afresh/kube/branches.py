"""Finds the packages that share a branch, and the one that owns it (S1-11).

An index of the WorkPackages in the cache: the cost to find a package's rival does not depend on the
number of packages. It reads raw objects, because a package that cannot be parsed may own a branch,
too.
"""

from bisect import bisect_left, insort
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from afresh.api.phases import ENDED
from afresh.api.repository import default_branch
from afresh.core.history.transitions import IN_EPISODE
from afresh.core.repository_url import normalized_url
from afresh.kube.resources import Manifest

Place = tuple[str, str, str]
"""Namespace, normalized URL and branch."""
Order = tuple[bool, str, str]
"""The sort key for claims: the package with the smallest one owns the branch."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Claim:
    """One package's claim to its branch. Only a claim that `holds` excludes others."""

    name: str
    place: Place
    holds: bool
    order: Order


class Branches:
    """The claims of the packages, by place. It must be used within one event loop."""

    def __init__(self) -> None:
        self._claims: dict[tuple[str, str], _Claim] = {}
        self._sharing: dict[Place, set[str]] = defaultdict(set)
        self._holding: dict[Place, list[tuple[Order, str]]] = defaultdict(list)

    def put(self, package: Manifest) -> None:
        """Add or update a package."""
        self.drop(package)
        claim = _claim_of(package)
        self._claims[_key(package)] = claim
        self._sharing[claim.place].add(claim.name)
        if claim.holds:
            insort(self._holding[claim.place], (claim.order, claim.name))

    def drop(self, package: Manifest) -> None:
        """Forget a package."""
        known = self._claims.pop(_key(package), None)
        if known is None:
            return
        self._sharing[known.place].discard(known.name)
        if not self._sharing[known.place]:
            del self._sharing[known.place]
        if not known.holds:
            return
        holding = self._holding[known.place]
        del holding[bisect_left(holding, (known.order, known.name))]
        if not holding:
            del self._holding[known.place]

    def rival(self, namespace: str, name: str) -> str | None:
        """Return the name of the package that owns the branch; None: this one may use it."""
        mine = self._claims.get((namespace, name))
        holding = self._holding.get(mine.place) if mine else None
        if mine is None or not holding:
            return None
        order, first = holding[0]
        return first if order < mine.order else None

    def sharing(self, package: Manifest) -> list[str]:
        """Return the names of the other packages on the branch of `package`."""
        name = package["metadata"]["name"]
        return sorted(self._sharing.get(_place_of(package), set()) - {name})


def _claim_of(package: Manifest) -> _Claim:
    metadata, spec, status = package["metadata"], package["spec"], package.get("status", {})
    records: list[dict[str, Any]] = status.get("subtasks", [])
    is_at_work = any(record.get("phase") in IN_EPISODE for record in records)
    has_begun = is_at_work or any(record.get("attempts") for record in records)
    waits_for_its_user = spec.get("suspend", False) and not has_begun
    is_over = status.get("phase") in ENDED or "deletionTimestamp" in metadata
    return _Claim(
        name=metadata["name"],
        place=_place_of(package),
        holds=is_at_work or not (is_over or waits_for_its_user),
        # A package with a live episode comes first, so that two agents never work at once; then the
        # oldest.
        order=(not is_at_work, metadata.get("creationTimestamp", ""), metadata["uid"]),
    )


def _place_of(package: Manifest) -> Place:
    metadata, repository = package["metadata"], package["spec"].get("repository", {})
    # Many servers ignore the case of a path.
    url = normalized_url(repository.get("url", "")).casefold()
    return metadata["namespace"], url, repository.get("branch") or default_branch(metadata["name"])


def _key(package: Manifest) -> tuple[str, str]:
    return package["metadata"]["namespace"], package["metadata"]["name"]

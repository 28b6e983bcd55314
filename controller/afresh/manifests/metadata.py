"""Labels, annotations and owner references of everything that a package owns."""

from collections.abc import Iterable
from typing import Any

from afresh.api.work_package import WorkPackage
from afresh.contract.pod_layout import (
    LABEL_MANAGED_BY,
    LABEL_PACKAGE,
    LABEL_SUBTASK,
    MANAGED_BY,
)
from afresh.core.observed import Member


def labels(package: str, subtask: str) -> dict[str, str]:
    """Return the labels by which the operator finds the objects that it created for a subtask."""
    return {LABEL_MANAGED_BY: MANAGED_BY, LABEL_PACKAGE: package, LABEL_SUBTASK: subtask}


def owned_by(package: WorkPackage) -> list[dict[str, Any]]:
    """Return the owner references of an object that is deleted together with the package."""
    return [
        {
            "apiVersion": package.api_version,
            "kind": package.kind,
            "name": package.metadata.name,
            "uid": package.metadata.uid,
            "controller": True,
            "blockOwnerDeletion": False,
        }
    ]


def batch_text(members: Iterable[Member]) -> str:
    """Return a batch as text for an annotation: comma-separated `ID:ATTEMPT:REVISION` items."""
    return ",".join(f"{item.subtask}:{item.attempt}:{item.revision}" for item in members)


def read_batch(text: str) -> tuple[Member, ...]:
    """Parse a text that `batch_text` wrote. Raises ValueError if it is malformed."""
    fields = [item.split(":") for item in text.split(",") if item]
    return tuple(
        Member(subtask=subtask, attempt=int(attempt), revision=int(revision))
        for subtask, attempt, revision in fields
    )

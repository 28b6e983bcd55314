"""Kubernetes Events about transitions."""

from datetime import datetime

from afresh.contract.sentences import fitted
from afresh.core.decision import Note
from afresh.core.names import short_hash
from afresh.kube.client import Kube
from afresh.kube.errors import ConflictError
from afresh.kube.resources import EVENTS, Manifest

COMPONENT = "afresh"
MESSAGE_LENGTH = 1000


async def write_event(
    kube: Kube, about: Manifest, note: Note, now: datetime, *, related: Manifest | None = None
) -> None:
    """Write one Event about an object and a `related` one. It is idempotent."""
    metadata = about["metadata"]
    stamp = now.isoformat(timespec="microseconds").replace("+00:00", "Z")
    of = (metadata["uid"], note.subtask or "", note.reason, note.message, stamp)
    name = f"{metadata['name']}.{short_hash(*of)}"
    body = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": metadata["namespace"]},
        "involvedObject": _reference(about),
        **({"related": _reference(related)} if related else {}),
        "type": note.type,
        "reason": note.reason,
        "message": fitted(note.message, MESSAGE_LENGTH),
        "source": {"component": COMPONENT},
        "reportingComponent": COMPONENT,
        "firstTimestamp": stamp.split(".")[0] + "Z",
        "lastTimestamp": stamp.split(".")[0] + "Z",
        "count": 1,
    }
    try:
        await kube.create(EVENTS, metadata["namespace"], body)
    except ConflictError:
        return


def _reference(body: Manifest) -> Manifest:
    metadata = body["metadata"]
    return {
        "apiVersion": body["apiVersion"],
        "kind": body["kind"],
        "name": metadata["name"],
        "namespace": metadata["namespace"],
        "uid": metadata["uid"],
        "resourceVersion": metadata["resourceVersion"],
    }

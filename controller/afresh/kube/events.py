"""Kubernetes Events about transitions."""

from datetime import datetime

from afresh.core.actions import Note
from afresh.core.names import short_hash
from afresh.kube.client import EVENTS, Kube, Manifest
from afresh.kube.errors import ConflictError

COMPONENT = "afresh"
MESSAGE_LENGTH = 1000


async def write_event(kube: Kube, about: Manifest, note: Note, now: datetime) -> None:
    """Write one Event about an object. Writing the same one again changes nothing."""
    metadata = about["metadata"]
    stamp = now.isoformat(timespec="microseconds").replace("+00:00", "Z")
    name = f"{metadata['name']}.{short_hash(metadata['uid'], note.reason, note.message, stamp)}"
    body = {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": metadata["namespace"]},
        "involvedObject": {
            "apiVersion": about["apiVersion"],
            "kind": about["kind"],
            "name": metadata["name"],
            "namespace": metadata["namespace"],
            "uid": metadata["uid"],
            "resourceVersion": metadata["resourceVersion"],
        },
        "type": note.type,
        "reason": note.reason,
        "message": note.message[:MESSAGE_LENGTH],
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

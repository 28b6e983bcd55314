"""Deterministic names: the same owner and attempt give the same name.

So no Job is created twice.
"""

import hashlib
import re
from datetime import UTC

from afresh.api.agent_class import Gate

# A pod's name is that of its Job, a hyphen and five characters; Kubernetes truncates longer names.
MAX_NAME = 57
FIRST_UID = 200_000
LAST_UID = 2_000_000_000


def subtask_name(package: str, subtask_id: str) -> str:
    """Return the name of the child object of `package` for `subtask_id`.

    An object name cannot hold the punctuation of an id, and a hyphen is ambiguous; a hash keeps
    such names distinct.
    """
    slug = slug_of(subtask_id)
    name = f"{package}-{slug}"
    plain = slug == subtask_id.lower() and "-" not in slug
    return name if plain else f"{name}-{short_hash(subtask_id, length=5)}"


def job_name(package: str, subtask_id: str, attempt: int, uid: str) -> str:
    """Return the name of the Job of one episode."""
    return _with_tail(f"{package}-{slug_of(subtask_id)}", attempt, short_hash(uid, subtask_id))


def sync_name(package: str, attempt: int, uid: str) -> str:
    """Return the name of a Job that only pushes the plan. No subtask's Job has the same name."""
    return _with_tail(f"{package}-plan", attempt, short_hash(uid))


def _with_tail(stem: str, attempt: int, known: str) -> str:
    """Return the name of a Job. The x near its end marks the names of episodes' pods.

    The admission policy for connections to pods has only the pod's name to recognize them.
    """
    tail = f"-{attempt}-x{known}"
    return stem[: MAX_NAME - len(tail)].rstrip("-.") + tail


def user_id(uid: str, subtask_id: str) -> int:
    """Return the UID that the pods of one subtask run as.

    RLIMIT_NPROC counts per UID on a node, so no two subtasks may share one. It is the same for
    every attempt, because the agent can see it.
    """
    span = LAST_UID - FIRST_UID
    return FIRST_UID + int(hashlib.sha256(f"{uid}/{subtask_id}".encode()).hexdigest(), 16) % span


def probe_of(gate: Gate) -> str:
    """Return the annotation of an episode that probes the gate at its current step.

    It contains the time of closing, because the time of opening may change during the probe.
    """
    return f"{gate.secret_name}/{gate.since.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}/{gate.step}"


def slug_of(text: str) -> str:
    """Return `text` with only the characters that object names allow."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-") or "x"


def short_hash(*parts: str, length: int = 8) -> str:
    """Return a short hexadecimal hash of `parts`."""
    return hashlib.sha256("/".join(parts).encode()).hexdigest()[:length]

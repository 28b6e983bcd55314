"""Programs of episodes that are alive on the node, looked for where the kernel lists them.

The containers' processes are the node's processes: their user tells whose they are.
"""

from pathlib import Path

from afresh.core.names import user_id
from tests.e2e.api import Manifest


def users_of(packages: list[Manifest], pods: list[Manifest]) -> set[int]:
    """Return the users that the packages' episodes run as, whether or not their pods are left."""
    users = {
        user_id(item["metadata"]["uid"], subtask)
        for item in packages
        for subtask in ("", *_subtasks(item))
    }
    settings = [pod["spec"].get("securityContext", {}) for pod in pods]
    labelled = [pod["metadata"].get("labels", {}) for pod in pods]
    return users | {
        setting["runAsUser"]
        for setting, labels in zip(settings, labelled, strict=True)
        if "afresh.dev/package" in labels
    }


def programs_of(users: set[int]) -> list[str]:
    """Return the command lines of the users' processes; one that is ending has none."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if folder.stat().st_uid in users:
                found.append((folder / "cmdline").read_text().replace("\0", " "))
        except OSError:
            continue  # it has just ended
    return [line for line in found if line]


def _subtasks(package: Manifest) -> set[str]:
    entries = package["spec"]["subtasks"] + package.get("status", {}).get("subtasks", [])
    return {item["id"] for item in entries}

"""The objects of the packages of one clone, as files: what the API server holds in a cluster.

Owns names, uids, generations and resource versions. Each change is made under a lock that is held
for milliseconds, so that commands may change a package while another process runs it.
"""

import contextlib
import fcntl
import os
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from afresh import clock
from afresh.api.agent_class import AgentClass
from afresh.api.meta import ApiModel
from afresh.api.subtask import SubtaskObject
from afresh.api.transitions import refuse_change
from afresh.api.work_package import RETRY_ANNOTATION, WorkPackage
from afresh.local.files import read_json, write_json
from afresh.local.json_patch import Operation, patched
from afresh.local.merging import merged, without_nulls
from afresh.removal import remove_tree

NAMESPACE = "local"
Manifest = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PackageStore:
    """One package with its class and its subtasks, in a folder of its own."""

    folder: Path

    @property
    def _package(self) -> Path:
        return self.folder / "package.json"

    def _subtask(self, name: str) -> Path:
        return self.folder / "subtasks" / f"{name}.json"

    @property
    def exists(self) -> bool:
        """Whether there is such a package."""
        return self._package.exists()

    def package(self) -> WorkPackage:
        """Return the package. Raises ValueError if its file is not one."""
        return WorkPackage.model_validate(read_json(self._package))

    def agent_class(self) -> AgentClass | None:
        """Return the package's class, if it has been stored."""
        raw = read_json(self.folder / "class.json")
        return AgentClass.model_validate(raw) if raw else None

    def subtasks(self) -> tuple[SubtaskObject, ...]:
        """Return its subtasks, by name."""
        found = sorted((self.folder / "subtasks").glob("[!.]*.json"))
        return tuple(SubtaskObject.model_validate(read_json(path)) for path in found)

    def apply(self, manifest: Manifest) -> WorkPackage:
        """Merge a manifest into the package, and return what is stored. Raises ValueError.

        What commands have changed since the last time stays. The status stays.
        """
        WorkPackage.model_validate(manifest)
        applied = {key: without_nulls(manifest[key]) for key in manifest if key != "status"}
        with self._changing():
            stored = read_json(self._package)
            last = read_json(self.folder / "applied.json") if stored else None
            whole = applied | {
                "metadata": applied["metadata"] | _notes(last, stored, applied),
                "spec": merged(
                    (last or {}).get("spec"), (stored or {}).get("spec"), applied["spec"]
                ),
            }
            package = WorkPackage.model_validate(whole)
            if stored:
                refuse_change(WorkPackage.model_validate(stored), package)
            # In this order: a manifest that is merged twice gives the same as once.
            _put(self._package, whole)
            write_json(self.folder / "applied.json", applied)
            return self.package()

    def patch(self, operations: Iterable[Operation]) -> None:
        """Change the package. Raises PatchConflictError if it is not what the patch rests on.

        Raises ValueError if the package would break a rule.
        """
        with self._changing():
            stored = read_json(self._package)
            changed = patched(stored, operations)
            refuse_change(WorkPackage.model_validate(stored), WorkPackage.model_validate(changed))
            _put(self._package, changed)

    def ask_retry(self, stamp: str) -> None:
        """Have everything that waits be tried at once, as afresh retry does."""
        with self._changing():
            stored = read_json(self._package)
            notes = stored["metadata"].get("annotations", {}) | {RETRY_ANNOTATION: stamp}
            _put(self._package, stored | {"metadata": stored["metadata"] | {"annotations": notes}})

    def put_class(self, manifest: Manifest) -> None:
        """Write the class as it is to be; its status stays."""
        with self._changing():
            _put(self.folder / "class.json", manifest)

    def put_subtask(self, manifest: Manifest) -> None:
        """Write a subtask as it is to be; its status stays."""
        with self._changing():
            _put(self._subtask(manifest["metadata"]["name"]), manifest)

    def delete_subtask(self, name: str) -> None:
        """Remove a subtask."""
        with self._changing():
            self._subtask(name).unlink(missing_ok=True)

    def put_package_status(self, status: ApiModel) -> None:
        """Replace the package's status."""
        with self._changing():
            _put_status(self._package, status)

    def put_class_status(self, status: ApiModel) -> None:
        """Replace the class's status."""
        with self._changing():
            _put_status(self.folder / "class.json", status)

    def put_subtask_status(self, name: str, status: ApiModel) -> None:
        """Replace a subtask's status."""
        with self._changing():
            _put_status(self._subtask(name), status)

    def delete(self) -> None:
        """Remove the package and all that belongs to it."""
        with self._changing():
            self._package.unlink(missing_ok=True)  # first: without it there is no package
            remove_tree(self.folder)

    def clear(self) -> None:
        """Remove the files of writes that were not finished."""
        with self._changing():
            for path in (*self.folder.glob(".*.json.*"), *self.folder.glob("subtasks/.*.json.*")):
                path.unlink(missing_ok=True)

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.folder / "objects.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _notes(
    last: Manifest | None, stored: Manifest | None, applied: Manifest
) -> dict[str, dict[str, str]]:
    """Return the annotations and labels of the metadata: requests of commands are among them."""
    sides = [(side or {}).get("metadata", {}) for side in (last, stored, applied)]
    found = {
        name: merged(*(side.get(name, {}) for side in sides)) for name in ("annotations", "labels")
    }
    return {name: notes for name, notes in found.items() if notes}


def _named(manifest: Manifest) -> Manifest:
    return manifest | {"metadata": {"namespace": NAMESPACE, **manifest["metadata"]}}


def _put(path: Path, manifest: Manifest) -> None:
    """Write spec, labels and annotations; the generation counts changes of the spec."""
    old = read_json(path)
    metadata = _named(manifest)["metadata"]
    if old is None:
        metadata |= {
            "uid": str(uuid.uuid4()),
            "generation": 1,
            "resourceVersion": "1",
            "creationTimestamp": f"{clock.now():%Y-%m-%dT%H:%M:%SZ}",
        }
        write_json(path, manifest | {"metadata": metadata})
        return
    known = old["metadata"]
    fixed = ("uid", "generation", "resourceVersion", "creationTimestamp")
    metadata |= {name: known[name] for name in fixed}
    if old["spec"] != manifest["spec"]:
        metadata["generation"] += 1
    new = manifest | {"metadata": metadata, "status": old.get("status", {})}
    if new != old | {"status": old.get("status", {})}:
        _write_next(path, new)


def _put_status(path: Path, status: ApiModel) -> None:
    """Replace the status of an object that is there; it may just have been deleted."""
    old = read_json(path)
    if old is not None:
        _write_next(path, old | {"status": status.to_manifest()})


def _write_next(path: Path, manifest: Manifest) -> None:
    metadata = manifest["metadata"]
    version = str(int(metadata["resourceVersion"]) + 1)
    write_json(path, manifest | {"metadata": metadata | {"resourceVersion": version}})

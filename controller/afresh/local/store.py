"""The objects of the packages of one clone, as files: what the API server holds in a cluster.

Owns names, uids, generations and resource versions. Each change is made under a lock that is held
for milliseconds, so that commands may change a package while another process runs it.
"""

import contextlib
import fcntl
import os
import shutil
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from afresh import clock
from afresh.api.agent_class import AgentClass
from afresh.api.meta import ApiModel
from afresh.api.subtask import SubtaskObject
from afresh.api.work_package import WorkPackage
from afresh.local.files import read_json, write_json
from afresh.local.json_patch import Operation, patched
from afresh.local.merging import merged

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
        """Merge a manifest into the package, and return what is to be. Raises ValueError.

        What commands have changed since the last time stays. The status stays.
        """
        with self._changing():
            last, stored = read_json(self.folder / "applied.json"), read_json(self._package)
            spec = merged((last or {}).get("spec"), (stored or {}).get("spec"), manifest["spec"])
            whole = manifest | {"spec": spec}
            package = WorkPackage.model_validate(_named(whole))
            _put(self._package, whole)
            write_json(self.folder / "applied.json", manifest)
        return package

    def patch(self, operations: Iterable[Operation]) -> None:
        """Change the package. Raises PatchConflictError if it is not what the patch rests on."""
        with self._changing():
            changed = patched(read_json(self._package), operations)
            WorkPackage.model_validate(changed)
            _put(self._package, changed)

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
        shutil.rmtree(self.folder)

    @contextlib.contextmanager
    def _changing(self) -> Iterator[None]:
        self.folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.folder / "objects.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


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
    _write_next(path, read_json(path) | {"status": status.to_manifest()})


def _write_next(path: Path, manifest: Manifest) -> None:
    metadata = manifest["metadata"]
    version = str(int(metadata["resourceVersion"]) + 1)
    write_json(path, manifest | {"metadata": metadata | {"resourceVersion": version}})

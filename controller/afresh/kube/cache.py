"""The operator's view of the cluster: the newest known version of every object that it watches.

The watch and the responses to the operator's own writes update it. It has no history, makes no
decisions, and must be used within one event loop.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

from afresh.contract.pod_layout import (
    ANNOTATION_ORDER,
    ANNOTATION_PASSWD,
    LABEL_MANAGED_BY,
    LABEL_PACKAGE,
    MANAGED_BY,
)
from afresh.contract.report import Report
from afresh.kube.branches import Branches
from afresh.kube.queue import Key
from afresh.kube.resources import (
    AGENT_CLASSES,
    JOBS,
    NETWORK_POLICIES,
    PODS,
    SUBTASKS,
    WORK_PACKAGES,
    Manifest,
    Resource,
)
from afresh.kube.seal import NO_SEAL, Seal
from afresh.kube.start_index import StartIndex
from afresh.kube.wait_index import WaitIndex
from afresh.kube.watch_lag import version_of

Name = tuple[str, str]
Line = tuple[str, str, str]
"""The reason for which packages wait, their namespace and their class."""
ENDS = ("Complete", "Failed")
LARGE = (ANNOTATION_ORDER, ANNOTATION_PASSWD)
# Kinds that others refer to come first.
WATCHED = (AGENT_CLASSES, NETWORK_POLICIES, WORK_PACKAGES, SUBTASKS, JOBS, PODS)
OURS = f"{LABEL_MANAGED_BY}={MANAGED_BY}"
"""The label selector of all objects that the operator created."""
# Anybody may set that label on a Job or a pod; admission policies protect the package's label.
OF_PACKAGES = f"{OURS},{LABEL_PACKAGE}"
"""The label selector of the Jobs and pods that the operator created."""
SELECTORS = {NETWORK_POLICIES: OURS, JOBS: OF_PACKAGES, PODS: OF_PACKAGES}
"""The label selector of each watch. All objects of the operator's own kinds are watched."""


class Cache:
    """Objects by kind, and children by the package whose label they carry."""

    def __init__(self, seal: Seal = NO_SEAL) -> None:
        self._seal = seal
        self._strange: set[str] = set()
        self._objects: dict[Resource, dict[Name, Manifest]] = {kind: {} for kind in WATCHED}
        self._children: dict[tuple[Resource, Key], set[Name]] = defaultdict(set)
        self._hints: dict[str, tuple[str, Report]] = {}
        self._unfinished: set[Name] = set()
        self.branches = Branches()
        # The answer to a write may arrive after the watch has reported the object's deletion.
        self._gone: dict[Resource, dict[str, int]] = {kind: {} for kind in WATCHED}
        self._in_line: dict[Line, set[Name]] = defaultdict(set)
        self.waits = WaitIndex()
        self.starts = StartIndex()
        self.claims: dict[str, Manifest] = {}
        """Jobs that are about to be created, by name: they count before the server knows them."""
        self.unlisted: set[str] = set()
        """The namespaces of which not everything is known, so that nothing is decided there."""

    def put(self, kind: Resource, body: Manifest) -> None:
        """Store `body`, unless a newer version is known."""
        name = name_of(body)
        known = self._objects[kind].get(name)
        if known and version_of(known) > version_of(body):
            return
        if self._gone[kind].get(_uid(body), -1) >= version_of(body):
            return
        if known:
            self._unindex(kind, known)
        self._objects[kind][name] = _slim(kind, body)
        self._note_strange(kind, body)
        self._index(kind, name, body)
        package = package_of(body)
        if package:
            self._children[kind, package].add(name)

    def drop(self, kind: Resource, body: Manifest) -> None:
        """Remove an object that was deleted."""
        name = name_of(body)
        known = self._objects[kind].get(name)
        if known and _uid(known) != _uid(body):
            return
        self._gone[kind][_uid(body)] = version_of(body)
        self._unindex(kind, self._objects[kind].pop(name, body))
        self._strange.discard(_uid(body))
        if kind is JOBS:
            self._unfinished.discard(name)
            self.starts.drop_job(body)
            self._hints.pop(body["metadata"]["uid"], None)
        if kind is PODS:
            self.starts.drop_pod(body)
        if kind is WORK_PACKAGES:
            self.branches.drop(body)
            self.waits.drop(Key(*name))

    def forget(self, namespace: str) -> None:
        """Forget everything in a namespace, whether or not it is still there."""
        for kind, objects in self._objects.items():
            for item in [item for name, item in objects.items() if name[0] == namespace]:
                self.drop(kind, item)
                # A list may show the same version again.
                self._gone[kind].pop(_uid(item), None)

    def is_strange(self, kind: Resource, body: Manifest) -> bool:
        """Whether a Job or a pod was not created by the operator, whatever its labels say."""
        known = self._objects[kind].get(name_of(body))
        if known and _uid(known) == _uid(body):
            return _uid(body) in self._strange
        return self._seal.is_broken(kind, body)

    def keep_hint(self, job: str, pod: str, report: Report) -> None:
        """Keep the Report of the runner in `pod` until the Job (both by UID) is deleted."""
        known = self._hints.get(job)
        if known is None or known[0] != pod or not known[1].final:
            self._hints[job] = (pod, report)

    def hint(self, job: str, pod: str | None) -> Report | None:
        """Return the last hint for the Job from `pod`; if that is None, from any of its pods."""
        known = self._hints.get(job)
        return known[1] if known and pod in (None, known[0]) else None

    def has_job(self, name: str) -> bool:
        """Whether a Job of this name is known in any namespace."""
        return any(known == name for _, known in self._objects[JOBS])

    def runs(self, job: Manifest) -> bool:
        """Whether the Job has not ended and is not being deleted, as far as the API shows."""
        return name_of(job) in self._unfinished

    def runs_by_name(self, namespace: str, name: str) -> bool:
        """Whether a Job of this name has not ended and is not being deleted."""
        return (namespace, name) in self._unfinished

    def with_reason(
        self, reason: str, *, namespace: str | None = None, class_name: str | None = None
    ) -> Iterator[Manifest]:
        """Return the packages whose status has this reason, in a namespace or of a class."""
        for line, names in list(self._in_line.items()):
            is_here = namespace in (None, line[1]) and class_name in (None, line[2])
            if line[0] == reason and is_here:
                yield from [self._objects[WORK_PACKAGES][name] for name in names]

    def live_jobs(self) -> Iterator[Manifest]:
        """Return the Jobs that have not ended by their status, and those that are being created."""
        known = {name[1] for name in self._unfinished}
        yield from [self._objects[JOBS][name] for name in self._unfinished]
        yield from [job for name, job in list(self.claims.items()) if name not in known]

    def get(self, kind: Resource, namespace: str, name: str) -> Manifest | None:
        """Return one object, or None if it is unknown. Cluster-scoped kinds have namespace ""."""
        return self._objects[kind].get((namespace, name))

    def children(self, kind: Resource, package: Key) -> list[Manifest]:
        """Return the objects of `kind` with the package's label, in the order of their names."""
        names = sorted(self._children.get((kind, package), ()))
        return [self._objects[kind][name] for name in names]

    def all(self, kind: Resource) -> Iterator[Manifest]:
        """Return every known object of `kind`."""
        return iter(list(self._objects[kind].values()))

    def retain(self, kind: Resource, uids: set[str], version: int) -> list[Manifest]:
        """Remove and return the objects that are missing from a list made at `version`.

        A watch that was restarted does not report the deletions in between. Unlisted namespaces
        are in no list.
        """
        self._gone[kind].clear()
        gone = [
            item
            for item in self.all(kind)
            if item["metadata"]["uid"] not in uids
            and version_of(item) <= version
            and name_of(item)[0] not in self.unlisted
        ]
        for item in gone:
            self.drop(kind, item)
        return gone

    def _index(self, kind: Resource, name: Name, body: Manifest) -> None:
        if _uid(body) in self._strange:
            self._unfinished.discard(name)
            return
        if kind is JOBS:
            self._note_end(name, body)
            self.starts.put_job(self._objects[JOBS][name], runs=name in self._unfinished)
        if kind is PODS:
            self.starts.put_pod(body)
        if kind is WORK_PACKAGES:
            self.branches.put(body)
            self.waits.put(Key(*name), body)
            self._in_line[_line_of(body)].add(name)

    def _note_strange(self, kind: Resource, body: Manifest) -> None:
        """Record whether the object is strange. The cached copy has no pod template to check."""
        if kind in (JOBS, PODS) and self._seal.is_broken(kind, body):
            self._strange.add(_uid(body))
            if kind is JOBS:
                self.starts.drop_job(body)
        else:
            self._strange.discard(_uid(body))

    def _note_end(self, name: Name, job: Manifest) -> None:
        if has_ended(job) or "deletionTimestamp" in job["metadata"]:
            self._unfinished.discard(name)
        else:
            self._unfinished.add(name)

    def _unindex(self, kind: Resource, known: Manifest) -> None:
        """Remove an object from the index of the label that it had before."""
        if kind is WORK_PACKAGES:
            line = _line_of(known)
            self._in_line[line].discard(name_of(known))
            if not self._in_line[line]:
                del self._in_line[line]
        package = package_of(known)
        if not package:
            return
        names = self._children[kind, package]
        names.discard(name_of(known))
        if not names:
            del self._children[kind, package]


def has_ended(job: Manifest) -> bool:
    """Whether the Job has the condition Complete or Failed."""
    conditions = job.get("status", {}).get("conditions", [])
    return any(item["type"] in ENDS and item["status"] == "True" for item in conditions)


def _line_of(package: Manifest) -> Line:
    reason = str(package.get("status", {}).get("reason", ""))
    class_name = str(package.get("spec", {}).get("agentClassName", ""))
    return reason, package["metadata"]["namespace"], class_name


def _uid(body: Manifest) -> str:
    return str(body["metadata"]["uid"])


def name_of(body: Manifest) -> Name:
    """Return an object's namespace ("" if it has none) and name."""
    return body["metadata"].get("namespace", ""), body["metadata"]["name"]


def package_of(body: Manifest) -> Key | None:
    """Return the package whose label the object carries."""
    metadata = body["metadata"]
    package = metadata.get("labels", {}).get(LABEL_PACKAGE)
    return Key(metadata["namespace"], package) if package else None


def _slim(kind: Resource, body: Manifest) -> Manifest:
    """Return the object without parts that no decision reads, such as Orders and pod templates."""
    metadata = {key: value for key, value in body["metadata"].items() if key != "managedFields"}
    slim: dict[str, Any] = {**body, "metadata": metadata}
    if kind is WORK_PACKAGES:  # the only record of who gave guidance, skipped and retried
        fields = body["metadata"].get("managedFields", [])
        metadata["managedFields"] = [item for item in fields if "subresource" not in item]
    if kind is PODS:
        notes = metadata.get("annotations", {})
        metadata["annotations"] = {key: notes[key] for key in notes if key not in LARGE}
        slim["spec"] = {}
    if kind is JOBS:
        slim["spec"] = {key: value for key, value in body["spec"].items() if key != "template"}
    return slim

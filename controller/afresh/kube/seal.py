"""The seal: a MAC (HMAC-SHA256) on each Job and pod, which shows that the operator created it.

Anybody who may create Jobs can write labels and owners. The seal is an annotation of the Job and of
its pod, computed from every field that the operator relies on. This module owns the choice of these
fields. Fields that admission and queues add (defaults, sidecars, tolerations, resources) are not
included.
"""

import hashlib
import hmac
import json
from collections.abc import Iterable
from typing import Any

from afresh.contract.pod_layout import AGENT, ANNOTATION_SEAL, RUNNER, VERIFY
from afresh.kube.resources import JOBS, Manifest, Resource

OURS = (RUNNER, AGENT, VERIFY)
WORDS = "afresh.dev/"
# Fields that the API server defaults or normalizes, or that an old one drops.
UNSTEADY = frozenset(
    {"defaultMode", "apiVersion", "sizeLimit", "recursiveReadOnly", "mountPropagation"}
)
MESSAGE_PATH, MESSAGE_POLICY = "/dev/termination-log", "File"
# Directories into which webhooks mount tokens and certificates, and from which no program loads
# code.
INJECTED = ("/var/run/secrets/", "/run/secrets/", "/etc/ssl/", "/etc/pki/")
# Variables that make a program load other code or behave otherwise.
LOADS = ("LD_", "PYTHON", "GIT_", "AFRESH_", "BASH_", "NODE_OPTIONS", "PATH", "ENV", "HOME")
OF_POD = ("hostAliases", "hostIPC", "hostNetwork", "hostPID", "shareProcessNamespace")
OF_CONTAINER = (
    "name",
    "image",
    "command",
    "args",
    "workingDir",
    "envFrom",
    "lifecycle",
    "livenessProbe",
    "readinessProbe",
    "startupProbe",
    "volumeDevices",
)


class Seal:
    """Seals Jobs, and checks the seals of Jobs and pods. Without a key it does neither."""

    def __init__(self, key: bytes | None, *, doubts: bool = True, since: str | None = None) -> None:
        """Use `key`. With `doubts` false, Jobs are sealed but seals are not checked.

        Objects older than the Secret of the key (`since`, as the API server writes times) are
        accepted: an operator that has been removed created them, without this key.
        """
        self._key = key
        self._doubts = doubts
        self._since = since

    def put_on(self, job: Manifest) -> Manifest:
        """Return the Job with the seal on it and on its pod template."""
        if self._key is None:
            return job
        template = job["spec"]["template"]
        names = {item["name"]: _names(item) for item in template["spec"]["containers"]}
        seal = self._seal(_home(job), template, names)
        return {
            **job,
            "metadata": _with_seal(job["metadata"], seal),
            "spec": {
                **job["spec"],
                "template": {**template, "metadata": _with_seal(template["metadata"], seal)},
            },
        }

    def is_broken(self, kind: Resource, body: Manifest) -> bool:
        """Whether a Job or a pod was not created by an operator with this key, or was changed."""
        if self._key is None or not self._doubts or self._is_older(body):
            return False
        try:
            if kind is JOBS:
                template = body["spec"]["template"]
                alike = _words(body["metadata"]) == _words(template["metadata"], without_order=True)
                return not (alike and self._holds(_home(body), template))
            return not self._holds(_home_of_pod(body), body)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
            return True

    def _is_older(self, body: Manifest) -> bool:
        made = str(body.get("metadata", {}).get("creationTimestamp") or "")
        # Both are UTC with whole seconds, whose texts are in the order of their times.
        return bool(self._since and made) and made < str(self._since)

    def _holds(self, home: tuple[str, str], pod: Manifest) -> bool:
        seal = pod["metadata"]["annotations"][ANNOTATION_SEAL]
        names = json.loads(seal)["env"]
        return hmac.compare_digest(self._seal(home, pod, names).encode(), seal.encode())

    def _seal(self, home: tuple[str, str], pod: Manifest, names: dict[str, list[str]]) -> str:
        said = [home, _words(pod["metadata"]), _essence(pod["spec"], names), names]
        text = json.dumps(said, sort_keys=True, separators=(",", ":"))
        mac = hmac.new(self._key or b"", text.encode(), hashlib.sha256).hexdigest()
        return json.dumps({"env": names, "mac": mac}, sort_keys=True, separators=(",", ":"))


NO_SEAL = Seal(None)


def _home(job: Manifest) -> tuple[str, str]:
    return job["metadata"]["namespace"], job["metadata"]["name"]


def _home_of_pod(pod: Manifest) -> tuple[str, str]:
    """Return the namespace and the name of the Job. Raises KeyError or ValueError without one."""
    metadata = pod["metadata"]
    (owner,) = (item for item in metadata["ownerReferences"] if item.get("controller"))
    if owner["kind"] != "Job" or not metadata["name"].startswith(owner["name"] + "-"):
        raise ValueError(metadata["name"])
    return metadata["namespace"], owner["name"]


def _with_seal(metadata: Manifest, seal: str) -> Manifest:
    notes = metadata.get("annotations", {})
    return {**metadata, "annotations": {**notes, ANNOTATION_SEAL: seal}}


def _words(metadata: Manifest, *, without_order: bool = False) -> dict[str, dict[str, str]]:
    """Return the labels and annotations of Afresh, without the seal itself."""
    left_out = {ANNOTATION_SEAL, *(ONLY_ON_POD if without_order else ())}
    return {
        part: {
            name: value
            for name, value in metadata.get(part, {}).items()
            if name.startswith(WORDS) and name not in left_out
        }
        for part in ("labels", "annotations")
    }


ONLY_ON_POD = (WORDS + "order", WORDS + "passwd")


def _names(container: Manifest) -> list[str]:
    return [item["name"] for item in container.get("env", [])]


def _essence(spec: Manifest, names: dict[str, list[str]]) -> Any:
    """Return the fields of a pod's spec that the operator relies on."""
    ours = [item for item in spec["containers"] if item["name"] in OURS]
    mounts = [mount for item in ours for mount in item.get("volumeMounts", [])]
    volumes = {mount["name"] for mount in mounts if not _may_be_injected(mount["mountPath"])}
    others = [
        *(item for item in spec["containers"] if item["name"] not in OURS),
        *spec.get("initContainers", []),
        *spec.get("ephemeralContainers", []),
    ]
    found = {
        **{key: spec.get(key) for key in OF_POD},
        "account": _unless(spec.get("serviceAccountName"), "default"),
        "containers": [_container(item, names.get(item["name"], []), volumes) for item in ours],
        "volumes": sorted(
            (item for item in spec.get("volumes", []) if item["name"] in volumes),
            key=lambda item: str(item["name"]),
        ),
        "others": [
            mount["mountPath"]
            for item in others
            for mount in item.get("volumeMounts", [])
            if mount["name"] in volumes
        ],
    }
    return _steady(found)


def _container(container: Manifest, names: Iterable[str], volumes: set[str]) -> Manifest:
    security = container.get("securityContext") or {}
    wanted = frozenset(names)
    return {
        **{key: container.get(key) for key in OF_CONTAINER},
        "env": [
            item
            for item in container.get("env", [])
            if item["name"] in wanted or item["name"].startswith(LOADS)
        ],
        "mounts": sorted(
            (
                item
                for item in container.get("volumeMounts", [])
                if item["name"] in volumes or not _may_be_injected(item["mountPath"])
            ),
            key=lambda item: str(item["mountPath"]),
        ),
        "messages": [
            _unless(container.get("terminationMessagePath"), MESSAGE_PATH),
            _unless(container.get("terminationMessagePolicy"), MESSAGE_POLICY),
        ],
        "rights": [
            security.get("privileged"),
            security.get("allowPrivilegeEscalation"),
            (security.get("capabilities") or {}).get("add"),
        ],
    }


def _may_be_injected(path: str) -> bool:
    """Whether a webhook may mount a volume at `path`."""
    return path.startswith(INJECTED) and ".." not in path


def _unless(value: Any, usual: str) -> Any:
    return None if value == usual else value


def _steady(value: Any) -> Any:
    """Return the value without fields that differ before and after the API server stored it."""
    if isinstance(value, dict):
        items = {key: _steady(item) for key, item in value.items() if key not in UNSTEADY}
        return {key: item for key, item in items.items() if not _is_absent(item)}
    if isinstance(value, list | tuple):
        return [_steady(item) for item in value]
    return value


def _is_absent(value: Any) -> bool:
    return value is None or value is False or value in ("", [], {})

"""Installs Kueue in a cluster, from its own manifests and with an image that was built here.

Owns the changes to those manifests. Must not know which queues there are.
"""

import json
import os
import subprocess
import time
from pathlib import Path

from tools.singlenode import binaries, bringup, oci_archive, progress
from tools.singlenode.containerd_client import ContainerdClient
from tools.singlenode.errors import ClusterError
from tools.singlenode.paths import ClusterPaths

IMAGE = "localhost/afresh/kueue:dev"

_NAMESPACE = "kueue-system"
_DEPLOYMENT = "kueue-controller-manager"
_LONGEST_START_SECONDS = 120
_POLL_SECONDS = 0.5


def install(paths: ClusterPaths) -> None:
    """Install Kueue in the cluster and wait until it is ready. A second call changes nothing."""
    if bringup.kind_of(paths) != bringup.NODE:
        raise ClusterError(f"{paths.name} has no node for Kueue to run on: use another cluster")
    if binaries.missing(binaries.KUEUE):
        raise ClusterError("kueue is not built: run `make kueue`")
    overlay = paths.config / "kueue"
    overlay.mkdir(exist_ok=True)
    upstream = binaries.KUEUE_MODULE.source() / "config" / "default"
    (overlay / "kustomization.yaml").write_text(kustomization(overlay, upstream))
    with progress.step(f"installing Kueue {binaries.KUEUE_MODULE.version()}"):
        _import_image(paths)
        # The schema of Workloads is too long for the annotation of a client-side apply.
        _kubectl(paths, "apply", "--server-side", "--kustomize", str(overlay))
        _kubectl(
            paths, "rollout", "status", f"--namespace={_NAMESPACE}",
            f"deployment/{_DEPLOYMENT}", f"--timeout={_LONGEST_START_SECONDS}s",
        )  # fmt: skip
        _wait_for_webhook(paths)


def kustomization(overlay: Path, upstream: Path) -> str:
    """The kustomization that adapts Kueue's manifests to this cluster (JSON, which is also YAML).

    `overlay` is its own directory, `upstream` that of Kueue's manifests.
    """
    program = {"name": "manager", "command": ["/kueue"], "image": IMAGE, "imagePullPolicy": "Never"}
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": _DEPLOYMENT, "namespace": _NAMESPACE},
        "spec": {"template": {"spec": {"containers": [program]}}},
    }
    config_map = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kueue-manager-config", "namespace": _NAMESPACE},
        "data": {"controller_manager_config.yaml": json.dumps(_CONFIGURATION)},
    }
    # kustomize accepts no absolute path.
    base = os.path.relpath(upstream.resolve(), overlay.resolve())
    no_visibility = {
        "$patch": "delete",
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": "every"},
    }
    patches = [
        {"patch": json.dumps(deployment)},
        {"patch": json.dumps(config_map)},
        {"patch": json.dumps(no_visibility), "target": {"kind": "APIService"}},
    ]
    return json.dumps({"resources": [base], "patches": patches}, indent=2)


_CONFIGURATION = {
    "apiVersion": "config.kueue.x-k8s.io/v1beta2",
    "kind": "Configuration",
    "health": {"healthProbeBindAddress": ":8081"},
    "metrics": {"bindAddress": ":8443"},
    "webhook": {"port": 9443},
    # There is only one instance, so it need not wait for a lease.
    "leaderElection": {"leaderElect": False},
    "integrations": {"frameworks": ["batch/job"]},
    # This offers pending workloads as an aggregated API. This API server has no aggregation, and an
    # aggregated API that does not answer prevents the deletion of every namespace.
    "featureGates": {"VisibilityOnDemand": False},
}


def _wait_for_webhook(paths: ClusterPaths) -> None:
    """Wait until a queue can be created: the pod is ready before its Service routes to it."""
    flavor = paths.config / "kueue" / "flavor.json"
    probe = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor"}
    flavor.write_text(json.dumps(probe | {"metadata": {"name": "probe"}}))
    deadline = time.monotonic() + _LONGEST_START_SECONDS
    while True:
        try:
            _kubectl(paths, "create", "--dry-run=server", f"--filename={flavor}")
        except ClusterError:
            if time.monotonic() > deadline:
                raise
            time.sleep(_POLL_SECONDS)
        else:
            return


def _import_image(paths: ClusterPaths) -> None:
    archive = paths.config / "kueue.tar"
    oci_archive.write(archive, program=binaries.path("kueue"), image=IMAGE)
    ContainerdClient(paths.containerd_socket).ensure_image(archive)
    archive.unlink()


def _kubectl(paths: ClusterPaths, *arguments: str) -> None:
    answer = subprocess.run(
        [str(paths.root / "kubectl"), *arguments], capture_output=True, text=True, check=False
    )
    if answer.returncode != 0:
        raise ClusterError(f"`kubectl {arguments[0]}` failed: {answer.stderr.strip()}")

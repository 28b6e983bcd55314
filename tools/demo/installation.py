"""Installs the operator on the demo's cluster, with Helm or with kubectl alone.

Must not know the steps of the demo.
"""

import json
import tempfile
import time
from pathlib import Path
from string import Template

from tools.demo.target import REPOSITORY, DemoCluster, DemoError, progress

SYSTEM = "afresh-system"
CHARTS = REPOSITORY / "charts"
MANIFESTS = REPOSITORY / "deploy" / "manifests"
OPERATORS = "app.kubernetes.io/name=afresh,app.kubernetes.io/component=operator"
OVERLAY = REPOSITORY / "tools" / "demo" / "manifests" / "kustomization.yaml"


def refuse_anothers(target: DemoCluster) -> None:
    """Raise DemoError if any namespace has an operator that the demo did not install."""
    # Two operators would both run every package, and conflict over cluster-wide names.
    found = json.loads(target.kubectl("get", "deployments", "-A", "-l", OPERATORS, "-o", "json"))
    for item in found["items"]:
        if "started" not in item["spec"]["template"]["metadata"].get("annotations", {}):
            raise DemoError(
                f"the demo did not install the Afresh in {item['metadata']['namespace']}: "
                "use another cluster, or run your own packages on this one"
            )


def install_with_helm(target: DemoCluster) -> None:
    """Install the CRDs and the operator, and wait until it is ready. Raises DemoError."""
    with progress.step("installing the operator with Helm"):
        target.run(
            "helm", "upgrade", "--install", "afresh-crds", str(CHARTS / "afresh-crds"),
            "--namespace", SYSTEM, "--create-namespace", "--take-ownership",
        )  # fmt: skip
        target.run(
            "helm", "upgrade", "--install", "afresh", str(CHARTS / "afresh"),
            "--namespace", SYSTEM, "--wait", "--timeout", "180s",
            "--set", f"image.registry={target.images},image.tag={target.tag}",
            "--set-string", f"operator.podAnnotations.started={time.time():.0f}",
        )  # fmt: skip


def install_with_kustomize(target: DemoCluster) -> None:
    """Do the same as `install_with_helm` without Helm. Raises DemoError."""
    with progress.step("installing the operator with kubectl"), tempfile.TemporaryDirectory() as at:
        values = {"IMAGES": target.images, "TAG": target.tag, "STARTED": f"{time.time():.0f}"}
        text = Template(OVERLAY.read_text()).substitute(values)
        # kustomize accepts a base only as a relative path.
        (Path(at) / "base").symlink_to(MANIFESTS)
        (Path(at) / "kustomization.yaml").write_text(text)
        target.kubectl("apply", "--server-side", "--force-conflicts", "-k", at)
        target.kubectl(
            "rollout", "status", "deployment/afresh-operator", "-n", SYSTEM, "--timeout=180s"
        )


def remove_operator(target: DemoCluster) -> None:
    """Uninstall the operator, however it was installed; the CRDs stay. Raises DemoError."""
    target.run("helm", "uninstall", "afresh", "--namespace", SYSTEM, "--ignore-not-found")
    target.kubectl(
        "delete", "-k", str(MANIFESTS / "operator"), "--ignore-not-found", "--timeout=120s"
    )
    target.kubectl("delete", "namespace", SYSTEM, "--ignore-not-found", "--timeout=120s")


INSTALLERS = {"helm": install_with_helm, "kustomize": install_with_kustomize}

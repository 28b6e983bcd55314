"""Checks of the images: from where they are pulled, and whether pods could pull them."""

from collections.abc import Iterator

from afresh.cli.check.findings import CheckFinding, CheckLevel
from afresh.cli.installation import OF_CHART, InstalledOperator, Reading
from afresh.cli.printable import plain_line
from afresh.contract.pod_layout import LABEL_PACKAGE
from afresh.kube.api_session import ApiSession
from afresh.kube.errors import NotFoundError, RefusedError
from afresh.kube.resources import AGENT_CLASSES, PODS, Manifest

PULL_FAILURES = ("ErrImagePull", "ErrImageNeverPull", "ImagePullBackOff", "InvalidImageName")
LOCAL = ("localhost/", "localhost:", "127.0.0.1:", "[::1]:")


def registries(
    session: ApiSession, operators: Reading[InstalledOperator]
) -> Iterator[CheckFinding]:
    """Yield whether nodes can reach the registry of the images of operators and classes."""
    images = {image for item in operators.items for image in item.images}
    refused = operators.refused
    try:
        classes = session.list_items(AGENT_CLASSES, None)
        images |= {str(item["spec"]["image"]) for item in classes if item["spec"].get("image")}
    except NotFoundError:
        pass  # the check of the CRDs reports it
    except RefusedError:
        refused = True
    level, said = _registries(images, refused=refused)
    yield CheckFinding(check="registries", level=level, message=said)


def _registries(images: set[str], *, refused: bool) -> tuple[CheckLevel, str]:
    local = sorted(image for image in images if image.startswith(LOCAL))
    if local:
        return CheckLevel.WARN, (
            f"Nodes cannot pull {', '.join(map(plain_line, local))}: push the images to a registry"
            " and name it in the chart's values, unless every node has them."
        )
    if refused:
        return CheckLevel.UNKNOWN, (
            "You may not read the operator and the classes, so not every image was checked."
        )
    if not images:
        return CheckLevel.PASS, "No operator and no AgentClass names an image yet."
    return CheckLevel.PASS, "No image comes from the registry localhost."


def pulls(
    session: ApiSession, namespace: str, operators: Reading[InstalledOperator]
) -> Iterator[CheckFinding]:
    """Yield whether a pod of the chart, or of the namespace's packages, cannot pull an image."""
    try:
        pods = session.list_items(PODS, namespace, labelSelector=LABEL_PACKAGE)
        for item in operators.items:
            home = item.deployment["metadata"]["namespace"]
            pods += session.list_items(PODS, home, labelSelector=OF_CHART)
    except RefusedError:
        said = "You may not list pods, so it is unknown whether they can pull their images."
        yield CheckFinding(check="image pulls", level=CheckLevel.UNKNOWN, message=said)
        return
    failed = sorted({image for pod in pods for image in _unpulled(pod)})
    if failed:
        images = ", ".join(map(plain_line, failed))
        message = f"Pods cannot pull {images}: push it, or add a pull secret to the AgentClass."
        yield CheckFinding(check="image pulls", level=CheckLevel.FAIL, message=message)
        return
    said = "No pod waits for an image that it cannot pull."
    yield CheckFinding(check="image pulls", level=CheckLevel.PASS, message=said)


def _unpulled(pod: Manifest) -> Iterator[str]:
    status = pod.get("status", {})
    for item in (*status.get("initContainerStatuses", ()), *status.get("containerStatuses", ())):
        if item.get("state", {}).get("waiting", {}).get("reason") in PULL_FAILURES:
            yield str(item["image"])

"""Checks of the person's rights, as the cluster's authorizer sees them."""

from collections.abc import Iterator, Sequence

from afresh.cli.check.findings import CheckFinding, CheckLevel
from afresh.kube.api_request import ApiRequest
from afresh.kube.api_session import ApiSession
from afresh.kube.resources import (
    ACCESS_REVIEWS,
    AGENT_CLASSES,
    CRDS,
    DEPLOYMENTS,
    JOBS,
    PODS,
    SUBTASKS,
    WORK_PACKAGES,
    Resource,
)

Right = tuple[str, Resource, str]

LOG = Resource("", "v1", "pods/log")
LOOK: tuple[Right, ...] = (
    ("list", WORK_PACKAGES, "afresh status and afresh get"),
    ("watch", WORK_PACKAGES, "afresh wait and afresh status -w"),
    ("list", SUBTASKS, "afresh status of a package"),
    ("list", AGENT_CLASSES, "afresh explain"),
    ("list", PODS, "afresh explain and afresh logs"),
    ("list", JOBS, "afresh explain"),
    ("get", LOG, "afresh logs"),
)
CHANGE: tuple[Right, ...] = (
    ("create", WORK_PACKAGES, "a new package"),
    ("patch", WORK_PACKAGES, "afresh guide, skip, retry, suspend and cancel"),
    ("delete", WORK_PACKAGES, "removing a package"),
)
_ADMISSION = "admissionregistration.k8s.io"
_ROLES = "rbac.authorization.k8s.io"
INSTALL: tuple[Right, ...] = (
    ("create", CRDS, ""),
    ("create", Resource(_ROLES, "v1", "clusterroles"), ""),
    ("create", Resource(_ROLES, "v1", "clusterrolebindings"), ""),
    ("create", Resource(_ADMISSION, "v1", "validatingadmissionpolicies"), ""),
    ("create", Resource(_ADMISSION, "v1", "validatingadmissionpolicybindings"), ""),
    ("create", DEPLOYMENTS, ""),
    ("create", Resource("", "v1", "serviceaccounts"), ""),
    ("create", Resource("", "v1", "secrets"), ""),
    ("create", Resource("", "v1", "services"), ""),
    ("create", Resource(_ROLES, "v1", "roles"), ""),
    ("create", Resource(_ROLES, "v1", "rolebindings"), ""),
    ("create", Resource("coordination.k8s.io", "v1", "leases"), ""),
    ("create", Resource("networking.k8s.io", "v1", "networkpolicies"), ""),
)
CLUSTER_WIDE = {
    AGENT_CLASSES, CRDS, *(item for _, item, _ in INSTALL[1:5]),
}  # fmt: skip
SYSTEM = "afresh-system"
"""The namespace into which the documentation installs the operator."""


def author(session: ApiSession, namespace: str) -> Iterator[CheckFinding]:
    """Yield whether the person may read packages, and write them."""
    yield _finding(session, namespace, "rights to read", LOOK, CheckLevel.WARN)
    yield _finding(session, namespace, "rights to write", CHANGE, CheckLevel.WARN)


def installer(session: ApiSession) -> Iterator[CheckFinding]:
    """Yield whether the person may install the charts into the namespace afresh-system."""
    yield _finding(session, SYSTEM, "rights to install", INSTALL, CheckLevel.FAIL)


def _finding(
    session: ApiSession, namespace: str, check: str, rights: Sequence[Right], lacking: CheckLevel
) -> CheckFinding:
    missing = [right for right in rights if not _is_allowed(session, namespace, right)]
    if not missing:
        said = "You have all rights that are needed."
        return CheckFinding(check=check, level=CheckLevel.PASS, message=said)
    named = "; ".join(
        f"{verb} {_name(resource)}" + (f" ({purpose})" if purpose else "")
        for verb, resource, purpose in missing
    )
    place = "" if all(item in CLUSTER_WIDE for _, item, _ in missing) else f" in {namespace}"
    message = f"You may not {named}{place}: ask an administrator of the cluster."
    return CheckFinding(check=check, level=lacking, message=message)


def _name(resource: Resource) -> str:
    return f"{resource.plural}.{resource.group}" if resource.group else resource.plural


def _is_allowed(session: ApiSession, namespace: str, right: Right) -> bool:
    verb, resource, _ = right
    plural, _, subresource = resource.plural.partition("/")
    attributes = {"verb": verb, "group": resource.group, "resource": plural}
    if subresource:
        attributes["subresource"] = subresource
    if resource not in CLUSTER_WIDE:
        attributes["namespace"] = namespace
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    answer = session.ask(ApiRequest(method="POST", path=ACCESS_REVIEWS.path(), body=review))
    return bool(answer["status"]["allowed"])

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
_ROLES = "rbac.authorization.k8s.io"
INSTALL: tuple[Right, ...] = (
    ("create", CRDS, ""),
    ("create", Resource(_ROLES, "v1", "clusterroles"), ""),
    ("create", Resource(_ROLES, "v1", "clusterrolebindings"), ""),
    (
        "create",
        Resource("admissionregistration.k8s.io", "v1", "validatingadmissionpolicies"),
        "",
    ),
    ("create", DEPLOYMENTS, ""),
    ("create", Resource("", "v1", "serviceaccounts"), ""),
    ("create", Resource("", "v1", "secrets"), ""),
    ("create", Resource("", "v1", "services"), ""),
)
CLUSTER_WIDE = {
    AGENT_CLASSES, CRDS, *(item for _, item, _ in INSTALL[1:4]),
}  # fmt: skip


def author(session: ApiSession, namespace: str) -> Iterator[CheckFinding]:
    """Yield whether the person may look at packages, and write them."""
    yield _finding(session, namespace, "rights to look", LOOK, CheckLevel.WARN)
    yield _finding(session, namespace, "rights to write", CHANGE, CheckLevel.WARN)


def installer(session: ApiSession, namespace: str) -> Iterator[CheckFinding]:
    """Yield whether the person may install the charts."""
    yield _finding(session, namespace, "rights to install", INSTALL, CheckLevel.FAIL)


def _finding(
    session: ApiSession, namespace: str, check: str, rights: Sequence[Right], lacking: CheckLevel
) -> CheckFinding:
    missing = [right for right in rights if not _is_allowed(session, namespace, right)]
    if not missing:
        return CheckFinding(check=check, level=CheckLevel.PASS, message="You have all of them.")
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

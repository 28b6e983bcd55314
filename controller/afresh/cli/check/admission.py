"""Checks whether admission accepts an episode's pod and Job in a namespace, by a dry run."""

from collections.abc import Iterator

from afresh.cli.check.findings import CheckFinding, CheckLevel
from afresh.cli.installation import InstalledOperator, Reading
from afresh.cli.printable import plain_line
from afresh.contract.words import AdapterName
from afresh.kube.api_request import ApiRequest
from afresh.kube.api_session import ApiSession
from afresh.kube.errors import KubeError, NotFoundError, RefusedError, UnavailableError
from afresh.kube.resources import AGENT_CLASSES, JOBS, NAMESPACES, PODS, Manifest, Resource
from afresh.manifests.conformance import ConformanceParts, build_conformance_pod

NAME = "afresh-check"
# An image that no registry has: nothing is pulled for a dry run.
NO_IMAGE = "registry.invalid/afresh-check:1"
NOT_PERMITTED = (" cannot create resource ", "is attempting to grant")


def episode_pod(
    session: ApiSession, namespace: str, operators: Reading[InstalledOperator]
) -> Iterator[CheckFinding]:
    """Yield whether the API server would accept an episode's pod and its Job, and what it adds."""
    if not _exists(session, namespace):
        said = f"There is no namespace {namespace}: create it, or name one with -n."
        yield CheckFinding(check="admission", level=CheckLevel.FAIL, message=said)
        return
    pod = _pod(session, namespace, operators)
    level, said = _dry_run(session, namespace, pod)
    yield CheckFinding(check="admission", level=level, message=said)


def _exists(session: ApiSession, namespace: str) -> bool:
    try:
        session.get(NAMESPACES, None, namespace)
    except NotFoundError:
        return False
    except RefusedError:
        return True  # who may not read it may still have it
    return True


def _pod(session: ApiSession, namespace: str, operators: Reading[InstalledOperator]) -> Manifest:
    runners = [image for item in operators.items for image in item.runner_images]
    try:
        classes = session.list_items(AGENT_CLASSES, None)
    except (NotFoundError, RefusedError):
        classes = []
    images = [str(item["spec"]["image"]) for item in classes if item["spec"].get("image")]
    pod = build_conformance_pod(
        ConformanceParts(
            name=NAME,
            namespace=namespace,
            image=images[0] if images else NO_IMAGE,
            runner_image=runners[0] if runners else NO_IMAGE,
            adapter=AdapterName.CLAUDE,
        )
    )
    # What admission would set; an API server without that plugin refuses the pod otherwise.
    return pod | {"spec": {"serviceAccountName": "default", **pod["spec"]}}


def _dry_run(session: ApiSession, namespace: str, pod: Manifest) -> tuple[CheckLevel, str]:
    added: set[str] = set()
    for kind, resource, body in (("pod", PODS, pod), ("Job", JOBS, _job(pod))):
        try:
            made = _create(session, resource, namespace, body)
        except RefusedError as error:
            message = plain_line(str(error))
            if any(words in message for words in NOT_PERMITTED):
                return CheckLevel.UNKNOWN, (
                    f"You may not create a {kind} in {namespace}: ask somebody with that right to"
                    " run this check."
                )
            return CheckLevel.FAIL, (
                f"The cluster refuses an episode's {kind} in {namespace}: {message.rstrip('.')};"
                " change what refuses it, or use another namespace."
            )
        except UnavailableError as error:
            return (
                CheckLevel.FAIL,
                f"A dry run of an episode's {kind} fails: {plain_line(str(error))}",
            )
        except KubeError as error:
            return CheckLevel.UNKNOWN, f"A dry run is not possible: {plain_line(str(error))}"
        added |= _added(pod, made) if kind == "pod" else set()
    if added:
        return CheckLevel.WARN, (
            f"Admission adds the containers {', '.join(sorted(added))} to an episode's pod: exempt"
            " the namespace, unless they are meant to run beside agents."
        )
    return CheckLevel.PASS, f"The cluster accepts an episode's pod and Job in {namespace}."


def _create(session: ApiSession, resource: Resource, namespace: str, body: Manifest) -> Manifest:
    request = ApiRequest(
        method="POST", path=resource.path(namespace), query={"dryRun": "All"}, body=body
    )
    return session.ask(request)


def _job(pod: Manifest) -> Manifest:
    template = {key: pod["metadata"][key] for key in ("labels", "annotations")}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": pod["metadata"],
        "spec": {"backoffLimit": 0, "template": {"metadata": template, "spec": pod["spec"]}},
    }


def _added(pod: Manifest, made: Manifest) -> set[str]:
    def names(item: Manifest) -> set[str]:
        spec = item["spec"]
        containers = (*spec.get("initContainers", ()), *spec["containers"])
        return {str(container["name"]) for container in containers}

    return {plain_line(name) for name in names(made) - names(pod)}

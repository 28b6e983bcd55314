"""Reads what is installed of Afresh on a cluster: Deployments of operators, and CRDs."""

from dataclasses import dataclass
from typing import Generic, TypeVar

from afresh.kube.api_session import ApiSession
from afresh.kube.errors import NotFoundError, RefusedError
from afresh.kube.resources import CRDS, DEPLOYMENTS, Manifest

OF_CHART = "app.kubernetes.io/name=afresh"
# The chart's scripted model is a Deployment, too.
OPERATOR = f"{OF_CHART},app.kubernetes.io/component=operator"
VERSION_LABEL = "app.kubernetes.io/version"
RUNNER_VARIABLE = "AFRESH_RUNNER_IMAGE"
NAMESPACES_VARIABLE = "AFRESH_NAMESPACES"
CRD_NAMES = ("workpackages.afresh.dev", "subtasks.afresh.dev", "agentclasses.afresh.dev")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """What was found. With `refused`, the person may not read it, and nothing is known."""

    items: tuple[T, ...] = ()
    refused: bool = False


@dataclass(frozen=True, slots=True)
class InstalledOperator:
    """A Deployment of the operator."""

    deployment: Manifest

    @property
    def name(self) -> str:
        """Its namespace and name."""
        meta = self.deployment["metadata"]
        return f"{meta['namespace']}/{meta['name']}"

    @property
    def version(self) -> str:
        """The version in its label, or ""."""
        return str(self.deployment["metadata"].get("labels", {}).get(VERSION_LABEL, ""))

    @property
    def replicas(self) -> tuple[int, int]:
        """How many of its pods are ready, and how many are wanted."""
        status = self.deployment.get("status", {})
        return status.get("readyReplicas", 0), self.deployment["spec"].get("replicas", 1)

    @property
    def images(self) -> tuple[str, ...]:
        """The images of its containers, and the runner's."""
        containers = self.deployment["spec"]["template"]["spec"]["containers"]
        return (*(str(item["image"]) for item in containers), *self.runner_images)

    @property
    def runner_images(self) -> tuple[str, ...]:
        """The image that it runs episodes with; empty where its settings do not name one."""
        return self._values_of(RUNNER_VARIABLE)

    def serves(self, namespace: str) -> bool:
        """Whether its settings name the namespace, or none, which means all."""
        named = {
            name.strip()
            for text in self._values_of(NAMESPACES_VARIABLE)
            for name in text.split(",")
            if name.strip()
        }
        return not named or namespace in named

    def _values_of(self, variable: str) -> tuple[str, ...]:
        containers = self.deployment["spec"]["template"]["spec"]["containers"]
        variables = [item for container in containers for item in container.get("env", ())]
        return tuple(
            str(item["value"])
            for item in variables
            if item["name"] == variable and item.get("value")
        )


@dataclass(frozen=True, slots=True)
class InstalledCrd:
    """A CustomResourceDefinition of Afresh as the cluster has it."""

    manifest: Manifest

    @property
    def name(self) -> str:
        """Its name."""
        return str(self.manifest["metadata"]["name"])

    @property
    def version(self) -> str:
        """The version in its label, or ""."""
        return str(self.manifest["metadata"].get("labels", {}).get(VERSION_LABEL, ""))

    @property
    def established(self) -> bool:
        """Whether the API server serves it."""
        conditions = self.manifest.get("status", {}).get("conditions", ())
        return ("Established", "True") in {(item["type"], item["status"]) for item in conditions}


def read_operators(session: ApiSession) -> Reading[InstalledOperator]:
    """Return the operators of the whole cluster."""
    try:
        found = session.list_items(DEPLOYMENTS, None, labelSelector=OPERATOR)
    except RefusedError:
        return Reading(refused=True)
    return Reading(tuple(map(InstalledOperator, found)))


def read_crds(session: ApiSession) -> Reading[InstalledCrd]:
    """Return the CRDs of Afresh."""
    found = []
    for name in CRD_NAMES:
        try:
            found.append(InstalledCrd(session.get(CRDS, None, name)))
        except NotFoundError:
            continue
        except RefusedError:
            return Reading(refused=True)
    return Reading(tuple(found))

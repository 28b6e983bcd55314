"""The pod of one episode: runner, agent and verify in parallel, sequenced by FIFOs (design, 4).

This module alone decides which volumes, variables and secrets each container gets.
"""

from dataclasses import dataclass
from typing import Any

from afresh.api.agent_class import AgentClass
from afresh.api.resources import ResourceList, quantity_value
from afresh.api.work_package import WorkPackage
from afresh.contract import pod_layout as at
from afresh.contract.order import Order
from afresh.contract.shim import SHIM
from afresh.contract.words import Checkout
from afresh.core.history.classify import GRACE_PERIOD
from afresh.manifests.environment import (
    agent_environment,
    agent_environment_from,
    runner_environment,
    shim_environment,
)
from afresh.manifests.volumes import mount, volumes

HOSTNAME = "episode"
RUNNER_RESOURCES = {
    "requests": {"cpu": "20m", "memory": "64Mi", "ephemeral-storage": "56Mi"},
    "limits": {"cpu": "2", "memory": "1Gi", "ephemeral-storage": "10Gi"},
}
# With the requests of the other containers, 256 MiB for the pod. Without a request, Kubernetes uses
# the limit, and only a few pods would fit on a node.
AGENT_DISK_REQUEST = "192Mi"
VERIFY_REQUESTS = {"cpu": "1m", "memory": "8Mi", "ephemeral-storage": "8Mi"}
CONTAINER_SECURITY = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PodParts:
    """The inputs for the pod of an episode.

    If `uid` is None, the namespace assigns the user, and the container runtime its passwd entry.
    """

    package: WorkPackage
    agent_class: AgentClass
    order: Order
    uid: int | None
    runner_image: str

    @property
    def agent_image(self) -> str:
        """The image of the agent's container."""
        return self.package.spec.image or self.agent_class.spec.image

    @property
    def verify_image(self) -> str:
        """The image of verify's container. All subtasks of an episode have the same one."""
        first = self.order.tasks[0].id
        entry = next(item for item in self.package.spec.subtasks if item.id == first)
        return self.package.verify_of(entry).image or self.agent_image

    @property
    def pids_limit(self) -> int:
        """How many processes the agent may have."""
        return self.package.spec.pids_limit or self.agent_class.spec.pids_limit


def build_pod_spec(parts: PodParts) -> dict[str, Any]:
    """Return the spec of the pod. It meets the Pod Security Standard `restricted`."""
    settings = parts.agent_class.spec.pod.to_manifest()
    return {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "shareProcessNamespace": False,
        "hostname": HOSTNAME,
        "terminationGracePeriodSeconds": int(GRACE_PERIOD.total_seconds()),
        "securityContext": {
            **_user(parts.uid),
            "runAsNonRoot": True,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        **{key: value for key, value in settings.items() if value},
        "containers": _containers(parts),
        "volumes": volumes(parts.order, parts.agent_class, has_passwd=parts.uid is not None),
    }


def _user(uid: int | None) -> dict[str, int]:
    return {} if uid is None else {"runAsUser": uid, "runAsGroup": uid, "fsGroup": uid}


def _passwd_mount(parts: PodParts) -> list[dict[str, Any]]:
    """Return the mount of /etc/passwd; empty if the container runtime writes the user's entry."""
    if parts.uid is None:
        return []
    return [mount("podinfo", "/etc/passwd", sub_path="passwd", read_only=True)]


def _containers(parts: PodParts) -> list[dict[str, Any]]:
    """Return the containers; a sync has only the runner."""
    if not parts.order.tasks:
        return [_runner(parts)]
    return [_runner(parts), _agent(parts), _verify(parts)]


def passwd_lines(uid: int) -> str:
    """Return the content of /etc/passwd, with a name and home directory for the pod's user."""
    return (
        f"root:x:0:0:root:/root:/sbin/nologin\nagent:x:{uid}:{uid}:agent:{at.AGENT_HOME}:/bin/sh\n"
    )


def _runner(parts: PodParts) -> dict[str, Any]:
    return {
        "name": at.RUNNER,
        "image": parts.runner_image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["python3", "-m", "afresh.episode"],
        "env": runner_environment(parts.agent_class.spec),
        "resources": RUNNER_RESOURCES,
        "securityContext": CONTAINER_SECURITY,
        "terminationMessagePolicy": "File",
        "volumeMounts": [
            mount("git", at.GIT_DIR),
            mount("worktree", at.WORKTREE),
            mount("home", at.AGENT_HOME),
            mount("checkout", at.CHECKOUT),
            mount("agent-control", at.AGENT_CONTROL),
            mount("verify-control", at.VERIFY_CONTROL),
            mount("podinfo", at.PODINFO_DIR, read_only=True),
            *_passwd_mount(parts),
            mount("token", at.TOKEN_DIR, read_only=True),
            *_secret_mounts(parts),
            *_cache_mount(parts),
            mount("runner-tmp", "/tmp"),  # noqa: S108
        ],
    }


def _secret_mounts(parts: PodParts) -> list[dict[str, Any]]:
    mounts = []
    if parts.order.repository.secret_name:
        mounts.append(mount("git-secret", at.GIT_SECRET_DIR, read_only=True))
    if parts.order.repository.signing_secret_name:
        mounts.append(mount("signing-secret", at.SIGNING_SECRET_DIR, read_only=True))
    if parts.order.agent.credentials_mode and parts.order.agent.secret_name:
        mounts.append(mount("model-secret", at.MODEL_SECRET_DIR, read_only=True))
    if parts.agent_class.spec.ca_bundle:
        mounts.append(mount("ca", at.CA_DIR, read_only=True))
    return mounts


def _cache_mount(parts: PodParts) -> list[dict[str, Any]]:
    is_used = parts.order.repository.cache_claim_name and parts.order.tasks
    return [mount("git-cache", at.CACHE_DIR)] if is_used else []


def _agent(parts: PodParts) -> dict[str, Any]:
    return {
        "name": at.AGENT,
        "image": parts.agent_image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", _literal(SHIM)],
        "workingDir": at.WORKTREE,
        "env": [
            *shim_environment(parts.pids_limit),
            *agent_environment(parts.agent_class.spec),
        ],
        **agent_environment_from(parts.order.agent),
        "resources": {"requests": _requests(parts), "limits": _limits(parts)},
        "securityContext": CONTAINER_SECURITY,
        "volumeMounts": [
            mount("worktree", at.WORKTREE),
            mount("home", at.AGENT_HOME),
            mount("agent-control", at.CONTROL, read_only=True),
            *_passwd_mount(parts),
            mount("agent-tmp", "/tmp"),  # noqa: S108
            mount("agent-shm", "/dev/shm"),  # noqa: S108
        ],
    }


def _verify(parts: PodParts) -> dict[str, Any]:
    return {
        "name": at.VERIFY,
        "image": parts.verify_image,
        "imagePullPolicy": "IfNotPresent",
        "command": ["/bin/sh", "-c", _literal(SHIM)],
        "workingDir": at.WORKTREE,
        # Setup runs here, too, and needs the same package index and proxy as in the agent.
        "env": [
            *shim_environment(parts.pids_limit),
            *agent_environment(parts.agent_class.spec),
        ],
        # It never runs at the same time as the agent: it requests little and has the same limits.
        "resources": {"requests": VERIFY_REQUESTS, "limits": _limits(parts)},
        "securityContext": CONTAINER_SECURITY,
        "volumeMounts": [
            mount(_verified_volume(parts), at.WORKTREE),
            mount("verify-home", at.AGENT_HOME),
            mount("verify-control", at.CONTROL, read_only=True),
            *_passwd_mount(parts),
            mount("verify-tmp", "/tmp"),  # noqa: S108
            mount("verify-shm", "/dev/shm"),  # noqa: S108
        ],
    }


def _literal(text: str) -> str:
    """Return `text` escaped for the kubelet, which expands $(NAME) and $$ in commands."""
    return text.replace("$", "$$")


def _verified_volume(parts: PodParts) -> str:
    """Return verify's volume: the agent's worktree if all subtasks ask for it, else a checkout."""
    tasks = parts.order.tasks
    return "worktree" if all(t.verify.checkout is Checkout.WORKTREE for t in tasks) else "checkout"


def _requests(parts: PodParts) -> dict[str, str]:
    wanted = parts.package.spec.resources
    own = wanted.requests if wanted else None
    base = parts.agent_class.spec.resources.requests
    asked = base.model_copy(
        update={"ephemeral_storage": base.ephemeral_storage or AGENT_DISK_REQUEST}
    )
    return _merged(asked, own, _limits(parts))


def _limits(parts: PodParts) -> dict[str, str]:
    wanted = parts.package.spec.resources
    return _merged(parts.agent_class.spec.resources.limits, wanted.limits if wanted else None)


def _merged(
    base: ResourceList, own: ResourceList | None, limits: dict[str, str] | None = None
) -> dict[str, str]:
    """Return the class's amounts, overridden by the package's; requests are capped at `limits`."""
    amounts = {**base.to_manifest(), **(own.to_manifest() if own else {})}
    if limits is None:
        return amounts
    return {
        name: min((value, limits.get(name, value)), key=quantity_value)
        for name, value in amounts.items()
    }

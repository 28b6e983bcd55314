"""The volumes of an episode's pod, and how containers mount them."""

from typing import Any

from afresh.api.agent_class import AgentClass
from afresh.contract import pod_layout as at
from afresh.contract.order import Order

TOKEN_SECONDS = 3600
# Minimum sizes. If the agent may write more, each volume with its files has the size of its limit.
WORK_BYTES = 10 * 2**30
SCRATCH_BYTES = 2**30
CONTROL_BYTES = 16 * 2**20
SHARED_MEMORY_SIZE = "64Mi"


def mount(
    name: str, path: str, *, sub_path: str | None = None, read_only: bool = False
) -> dict[str, Any]:
    """Return the manifest of a volumeMount."""
    return {
        "name": name,
        "mountPath": path,
        **({"subPath": sub_path} if sub_path else {}),
        **({"readOnly": True} if read_only else {}),
    }


def volumes(
    order: Order, agent_class: AgentClass, *, has_passwd: bool = True
) -> list[dict[str, Any]]:
    """Return the pod's volumes.

    Secrets are optional volumes, so that the runner starts and can report which one is missing.
    """
    allowed = order.agent.disk_bytes or 0
    # Files of the worktree also go to the git volume and then to the checkout.
    work = [_empty(name, max(allowed, WORK_BYTES)) for name in ("git", "worktree", "checkout")]
    scratch = [
        _empty(name, max(allowed, SCRATCH_BYTES))
        for name in ("home", "verify-home", "agent-tmp", "verify-tmp")
    ]
    control = [_empty(name, CONTROL_BYTES) for name in ("agent-control", "verify-control")]
    memory = [_shared_memory(name) for name in ("agent-shm", "verify-shm")]
    secrets = []
    if order.repository.secret_name:
        secrets.append(_secret("git-secret", order.repository.secret_name))
    if order.repository.signing_secret_name:
        secrets.append(_secret("signing-secret", order.repository.signing_secret_name))
    if order.agent.credentials_mode and order.agent.secret_name:
        secrets.append(_secret("model-secret", order.agent.secret_name))
    bundle = agent_class.spec.ca_bundle
    authorities = (
        [{"name": "ca", "configMap": {"name": bundle.config_map_name, "optional": True}}]
        if bundle
        else []
    )
    return [
        *work,
        *scratch,
        _empty("runner-tmp", SCRATCH_BYTES),
        *control,
        *memory,
        _podinfo(has_passwd),
        _token(),
        *secrets,
        *authorities,
        *_cache(order),
    ]


def _cache(order: Order) -> list[dict[str, Any]]:
    """Return the cache volume. A sync has none, because it may have to run on another node."""
    claim = order.repository.cache_claim_name if order.tasks else None
    return [{"name": "git-cache", "persistentVolumeClaim": {"claimName": claim}}] if claim else []


def _empty(name: str, size: int) -> dict[str, Any]:
    return {"name": name, "emptyDir": {"sizeLimit": str(size)}}


def _shared_memory(name: str) -> dict[str, Any]:
    """Return a volume for one container's /dev/shm; by default, all containers share one."""
    return {"name": name, "emptyDir": {"medium": "Memory", "sizeLimit": SHARED_MEMORY_SIZE}}


def _secret(name: str, secret: str) -> dict[str, Any]:
    return {
        "name": name,
        "secret": {"secretName": secret, "optional": True, "defaultMode": 0o440},
    }


def _podinfo(has_passwd: bool) -> dict[str, Any]:
    items = [_annotation("order", at.ANNOTATION_ORDER)]
    if has_passwd:
        items.append(_annotation("passwd", at.ANNOTATION_PASSWD))
    return {"name": "podinfo", "downwardAPI": {"items": items}}


def _annotation(path: str, name: str) -> dict[str, Any]:
    return {"path": path, "fieldRef": {"fieldPath": f"metadata.annotations['{name}']"}}


def _token() -> dict[str, Any]:
    return {
        "name": "token",
        "projected": {
            "sources": [
                {
                    "serviceAccountToken": {
                        "audience": at.TOKEN_AUDIENCE,
                        "expirationSeconds": TOKEN_SECONDS,
                        "path": at.TOKEN_NAME,
                    }
                }
            ]
        },
    }

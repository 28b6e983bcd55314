"""The Job of one episode: one pod in its life, two deadlines, kept for a day."""

from dataclasses import dataclass
from typing import Any

from afresh.api.agent_class import AgentClass
from afresh.api.work_package import WorkPackage
from afresh.contract import codec
from afresh.contract.order import Order
from afresh.contract.pod_layout import (
    ANNOTATION_ORDER,
    ANNOTATION_PASSWD,
    ANNOTATION_REVISION,
    LABEL_ATTEMPT,
)
from afresh.core.names import user_id
from afresh.manifests.metadata import labels, owned_by
from afresh.manifests.pod import PodParts, build_pod_spec, passwd_lines

TTL_SECONDS = 86_400
# What fetching, committing and pushing may take, beyond the agent's and the commands' own limits.
RUNNER_SECONDS = 120
KUEUE_QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


@dataclass(frozen=True, slots=True, kw_only=True)
class EpisodeParts:
    """Everything that makes one episode's Job."""

    package: WorkPackage
    agent_class: AgentClass
    order: Order
    subtask: str
    attempt: int
    revision: int
    runner_image: str


def build_job(parts: EpisodeParts) -> dict[str, Any]:
    """Return the Job of one episode. Its name is the Order's episode."""
    package = parts.package
    queue = package.spec.queue_name
    deadline = deadline_seconds(parts.order)
    uid = user_id(package.metadata.uid, parts.subtask)
    common = labels(package.metadata.name, parts.subtask) | {LABEL_ATTEMPT: str(parts.attempt)}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": parts.order.episode,
            "namespace": package.metadata.namespace,
            "labels": common | ({KUEUE_QUEUE_LABEL: queue} if queue else {}),
            "annotations": {ANNOTATION_REVISION: str(parts.revision)},
            "ownerReferences": owned_by(package),
        },
        "spec": {
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            "suspend": queue is not None,
            "activeDeadlineSeconds": deadline + package.spec.episode.startup_timeout_seconds,
            "ttlSecondsAfterFinished": TTL_SECONDS,
            "podReplacementPolicy": "Failed",
            # With Ignore, the Job would run the same Order again by itself, without a trace.
            "podFailurePolicy": {
                "rules": [
                    {
                        "action": "FailJob",
                        "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}],
                    }
                ]
            },
            "template": {
                "metadata": {
                    "labels": common,
                    "annotations": {
                        ANNOTATION_ORDER: codec.dumps(parts.order),
                        ANNOTATION_PASSWD: passwd_lines(uid),
                    },
                },
                "spec": build_pod_spec(
                    PodParts(
                        package=package,
                        agent_class=parts.agent_class,
                        order=parts.order,
                        uid=uid,
                        runner_image=parts.runner_image,
                    )
                )
                | {"activeDeadlineSeconds": deadline},
            },
        },
    }


def deadline_seconds(order: Order) -> int:
    """Return how long the episode's pod may run on its node.

    Setup runs twice for each subtask: before the agent and before verify.
    """
    setup = 2 * order.setup.timeout_seconds if order.setup else 0
    return sum(
        order.agent.timeout_seconds + setup + task.verify.timeout_seconds + RUNNER_SECONDS
        for task in order.tasks
    )

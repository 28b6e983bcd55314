"""Builds the Job of one episode or sync: one pod, with a deadline. The Job is kept for a day."""

from dataclasses import dataclass
from typing import Any

from afresh.api.agent_class import AgentClass
from afresh.api.work_package import WorkPackage
from afresh.contract import codec
from afresh.contract.order import Order
from afresh.contract.pod_layout import (
    ANNOTATION_BATCH,
    ANNOTATION_BUDGET,
    ANNOTATION_GATE,
    ANNOTATION_GENERATIONS,
    ANNOTATION_IMAGES,
    ANNOTATION_INPUTS,
    ANNOTATION_MODE,
    ANNOTATION_ORDER,
    ANNOTATION_PASSWD,
    ANNOTATION_PLAN,
    LABEL_AGENT_CLASS,
    LABEL_ATTEMPT,
)
from afresh.core.names import user_id
from afresh.core.observed import Member
from afresh.manifests.metadata import batch_text, labels, owned_by
from afresh.manifests.pod import PodParts, build_pod_spec, passwd_lines

TTL_SECONDS = 86_400
# The time for fetching, committing and pushing, added to the limits of the agent and the commands.
RUNNER_SECONDS = 120
# Longer than the runner's own limits on fetching and pushing, because the runner reports which step
# was slow.
SYNC_SECONDS = 300
KUEUE_QUEUE_LABEL = "kueue.x-k8s.io/queue-name"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobParts:
    """The inputs for the Job of an episode, or of a sync, which has no members.

    Without `derives_users` the namespace assigns the pod's user, as OpenShift requires. `plan` is
    the digest of the plan that a sync pushes, `images` the digest of the package's images.
    `core.observed.Episode` documents the other fields.
    """

    package: WorkPackage
    agent_class: AgentClass
    order: Order
    attempt: int
    runner_image: str
    derives_users: bool = True
    members: tuple[Member, ...] = ()
    generations: str = ""
    inputs: str = ""
    images: str = ""
    probe: str = ""
    plan: str = ""

    @property
    def subtask(self) -> str:
        """The first subtask, whose id is a label of the Job; empty for a sync."""
        return self.members[0].subtask if self.members else ""


def build_job(parts: JobParts) -> dict[str, Any]:
    """Return the Job. Its name is `order.episode`."""
    package = parts.package
    # A sync takes about a second and has no agent, so it does not wait in a queue.
    queue = package.spec.queue_name if parts.members else None
    uid = user_id(package.metadata.uid, parts.subtask) if parts.derives_users else None
    common = labels(package.metadata.name, parts.subtask) | {
        LABEL_ATTEMPT: str(parts.attempt),
        LABEL_AGENT_CLASS: parts.agent_class.metadata.name,
    }
    facts = _facts(parts)
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": parts.order.episode,
            "namespace": package.metadata.namespace,
            "labels": common | ({KUEUE_QUEUE_LABEL: queue} if queue else {}),
            "annotations": facts,
            "ownerReferences": owned_by(package),
        },
        "spec": {
            "backoffLimit": 0,
            "completions": 1,
            "parallelism": 1,
            "suspend": queue is not None,
            "ttlSecondsAfterFinished": TTL_SECONDS,
            "podReplacementPolicy": "Failed",
            # With the action Ignore, the Job would run the same Order again without a record of it.
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
                        **facts,
                        ANNOTATION_ORDER: codec.dumps(parts.order),
                        **({} if uid is None else {ANNOTATION_PASSWD: passwd_lines(uid)}),
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
                # The Job has no deadline of its own: it would include the wait for a node.
                | {"activeDeadlineSeconds": _pod_deadline(parts)},
            },
        },
    }


def _facts(parts: JobParts) -> dict[str, str]:
    """Return the annotations that describe the episode on its Job and pod, without empty ones."""
    budget = parts.order.budget
    facts = {
        ANNOTATION_BATCH: batch_text(parts.members),
        ANNOTATION_MODE: str(parts.order.mode) if parts.members else "",
        ANNOTATION_GENERATIONS: parts.generations,
        ANNOTATION_INPUTS: parts.inputs,
        ANNOTATION_IMAGES: parts.images,
        ANNOTATION_GATE: parts.probe,
        ANNOTATION_BUDGET: codec.dumps(budget) if budget else "",
        ANNOTATION_PLAN: parts.plan,
    }
    return {name: value for name, value in facts.items() if value}


def _pod_deadline(parts: JobParts) -> int:
    """Return how many seconds the pod may be on its node, including the pulling of images."""
    return deadline_seconds(parts.order) + parts.package.spec.episode.startup_timeout_seconds


def deadline_seconds(order: Order) -> int:
    """Return how many seconds the pod may run after its containers have started.

    Setup runs twice for each subtask: before the agent and before verify. Work that an earlier
    episode kept may have to be verified first, which takes verify's time limit once more.
    """
    if not order.tasks:
        return SYNC_SECONDS
    setup = 2 * order.setup.timeout_seconds if order.setup else 0
    return sum(
        order.agent.timeout_seconds
        + setup
        + (2 if task.kept else 1) * task.verify.timeout_seconds
        + RUNNER_SECONDS
        for task in order.tasks
    )

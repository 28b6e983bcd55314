"""The shared causes: failures that can stop many packages at once, and the keys that identify them.

This module owns the table: how often each cause is tried, which stage of an episode proves that it
is gone, and on which keys a package depends. `shared_waits` has the current state of each. Pure.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum, StrEnum

from afresh.api.agent_class import AgentClass
from afresh.api.work_package import WorkPackage
from afresh.contract.outcomes import backoff_after
from afresh.contract.pod_layout import AGENT, RUNNER, VERIFY
from afresh.contract.sentences import with_details
from afresh.contract.stable_words import steady
from afresh.contract.words import Outcome
from afresh.core.names import short_hash
from afresh.core.observed import ContainerFacts, ContainerState, Episode
from afresh.core.reasons import Reason
from afresh.core.repository_url import normalized_url

KEY_LENGTH = 1300
PULL_WAITING = frozenset({"ErrImagePull", "ImagePullBackOff"})
# The kubelet's reason for a container without a status: it may never have started.
STATUS_LOST = "ContainerStatusUnknown"
# The reasons for a container whose end nobody has seen, as after a restart of its node.
_UNSEEN_END = frozenset({STATUS_LOST, "Unknown"})
# Stands for the images of all containers that something in the cluster adds to pods.
ADDED = "added"
NO_SUCH_IMAGE = re.compile(
    r"not found|manifest unknown|denied|unauthorized|authentication|no such image|does not exist",
    re.IGNORECASE,
)


class Cause(StrEnum):
    """A cause outside the subtasks that stops several packages."""

    IMAGE = "ImagePull"
    FIT = "NeverFits"
    REFUSAL = "Refusal"
    REPOSITORY = "Repository"


class Stage(IntEnum):
    """How far an episode has come."""

    NONE = 0
    POD = 1
    SCHEDULED = 2
    STARTED = 3  # every container, so every image was there
    PREPARED = 4  # the repository has answered


class Refusal(StrEnum):
    """Why the API server refused a Job or a pod."""

    QUOTA = "Quota"
    LIMIT_RANGE = "LimitRange"
    POD_SECURITY = "PodSecurity"
    WEBHOOK = "Webhook"
    POLICY = "Policy"
    ACCOUNT = "ServiceAccount"


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """A shared cause that one episode shows.

    `subject` identifies it in its key: an image, a kind of refusal, or empty. `reason` is the
    reason of the package, and `message` a sentence that begins with the remedy.
    """

    cause: Cause
    subject: str = ""
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CauseRow:
    """One cause: the stage that ends it, the pause between tries, who tries, and its keys.

    `subjects` returns those on which a package depends; `key` returns the key of one of them.
    """

    ends_at: Stage
    pause: Callable[[int], timedelta]
    tries_without_agent: bool = False
    subjects: Callable[[WorkPackage, AgentClass], tuple[str, ...]]
    key: Callable[[WorkPackage, AgentClass, str], str]


def images_of(package: WorkPackage, agent_class: AgentClass) -> tuple[str, ...]:
    """Return the images of the package's episodes, except the runner's."""
    agent = package.spec.image or agent_class.spec.image
    verifies = (package.verify_of(entry).image for entry in package.spec.subtasks)
    return tuple(sorted({agent, *(image for image in verifies if image)}))


def _image_key(_: WorkPackage, agent_class: AgentClass, image: str) -> str:
    secrets = sorted(item.name for item in agent_class.spec.pod.image_pull_secrets)
    return " ".join([image, *([short_hash(*secrets)] if secrets else [])])


def _shape_key(package: WorkPackage, agent_class: AgentClass, _: str) -> str:
    """Return a key for the fields that decide on a node: requests, selector and tolerations."""
    own, pod = package.spec.resources, agent_class.spec.pod
    shape = (
        agent_class.spec.resources.model_dump_json(),
        own.model_dump_json() if own else "",
        str(sorted(pod.node_selector.items())),
        str(pod.tolerations),
        pod.runtime_class_name or "",
    )
    return f"{agent_class.metadata.name} {short_hash(*shape)}"


# These refusals depend on the pod, and so on the class; the others only on the namespace.
_LOOKS_AT_POD = frozenset({Refusal.LIMIT_RANGE, Refusal.POD_SECURITY, Refusal.POLICY})


def _refusal_key(_: WorkPackage, agent_class: AgentClass, kind: str) -> str:
    return f"{kind} {agent_class.metadata.name}" if kind in _LOOKS_AT_POD else kind


def _repository_key(package: WorkPackage, _: AgentClass, __: str) -> str:
    repository = package.spec.repository
    return f"{normalized_url(repository.url)} {repository.secret_name or ''}".strip()[:KEY_LENGTH]


TABLE: dict[Cause, CauseRow] = {
    Cause.IMAGE: CauseRow(
        ends_at=Stage.STARTED,
        pause=backoff_after,
        subjects=lambda package, agent_class: (RUNNER, ADDED, *images_of(package, agent_class)),
        key=_image_key,
    ),
    Cause.FIT: CauseRow(
        ends_at=Stage.SCHEDULED,
        pause=backoff_after,
        subjects=lambda *_: ("",),
        key=_shape_key,
    ),
    Cause.REFUSAL: CauseRow(
        ends_at=Stage.POD,
        pause=backoff_after,
        subjects=lambda *_: tuple(Refusal),
        key=_refusal_key,
    ),
    Cause.REPOSITORY: CauseRow(
        ends_at=Stage.PREPARED,
        pause=backoff_after,
        tries_without_agent=True,
        subjects=lambda *_: ("",),
        key=_repository_key,
    ),
}


def keys_of(package: WorkPackage, agent_class: AgentClass) -> tuple[tuple[Cause, str], ...]:
    """Return every key that the package depends on: one per image, and a few more."""
    return tuple(
        (cause, row.key(package, agent_class, subject))
        for cause, row in TABLE.items()
        for subject in row.subjects(package, agent_class)
    )


def stage_of(episode: Episode) -> Stage:
    """Return how far the episode has come, as far as is known."""
    report, pod = episode.report, episode.pod
    if report and ("prepared" in report.phases or any(item.commit for item in report.results)):
        return Stage.PREPARED
    if report and not episode.members and report.final and not report.results:
        return Stage.PREPARED
    if pod is None:
        return Stage.NONE
    started = [_has_started(item) for item in pod.containers]
    if started and all(started):
        return Stage.STARTED
    return Stage.SCHEDULED if pod.scheduled or pod.containers else Stage.POD


def _has_started(container: ContainerFacts) -> bool:
    has_ended = container.state is ContainerState.TERMINATED and container.reason != STATUS_LOST
    return container.started or has_ended


def trouble_at_start(episode: Episode) -> Trouble | None:
    """Return the shared cause that keeps the episode's pod from starting, or None."""
    pod = episode.pod
    if pod is None:
        return refusal_trouble(episode.refusal) if episode.refusal else None
    if pod.unschedulable:
        return _fit_trouble(pod.unschedulable) if never_fits(pod.unschedulable) else None
    for item in pod.containers:
        if item.state is ContainerState.WAITING and item.reason in PULL_WAITING:
            return _image_trouble(item.name, item.image, item.message or item.reason)
    return None


def _image_trouble(container: str, image: str, said: str) -> Trouble:
    if container == RUNNER:
        subject, remedy = RUNNER, "Correct the chart's runner.image"
    elif container not in (AGENT, VERIFY):
        subject, remedy = ADDED, f"Correct the image {image} where the cluster adds it to pods"
    else:
        subject = image
        remedy = f"Correct the image {image} of the package or its class"
    missing = NO_SUCH_IMAGE.search(said)
    return Trouble(
        cause=Cause.IMAGE,
        subject=subject,
        reason=str(Outcome.CONFIG) if missing else Reason.IMAGE_NOT_PULLED,
        message=with_details(
            f"{remedy}, or make it available to the nodes: the container {container} cannot start.",
            steady(said),
        ),
    )


def trouble_of_added(container: str, message: str) -> Trouble | None:
    """Return the trouble of a container that cannot start, if the cluster adds it to each pod."""
    if container in (RUNNER, AGENT, VERIFY):
        return None
    return Trouble(cause=Cause.IMAGE, subject=ADDED, reason=str(Outcome.CONFIG), message=message)


def failed_init(episode: Episode) -> ContainerFacts | None:
    """Return the init container of the cluster's that has failed, so that none of ours ran.

    What ends it as the pod is deleted, and an end that nobody has seen, are no failures.
    """
    pod = episode.pod
    if pod is None or pod.phase != "Failed" or pod.deleting_since or episode.deleting:
        return None
    runner = pod.container(RUNNER)
    if runner is None or runner.started or runner.state is ContainerState.TERMINATED:
        return None
    for item in pod.containers:
        is_ours = item.name in (RUNNER, AGENT, VERIFY)
        if item.exit_code and not is_ours and item.reason not in _UNSEEN_END:
            return item
    return None


def failed_init_message(container: ContainerFacts) -> str:
    """Return the sentence about an init container that has failed."""
    return with_details(
        f"Correct the init container {container.name} where the cluster adds it to pods, or what "
        f"it needs: it ends with exit code {container.exit_code} before the runner starts.",
        container.message,
    )


def _fit_trouble(said: str) -> Trouble:
    return Trouble(
        cause=Cause.FIT,
        reason=Reason.NEVER_FITS,
        message=with_details(
            "Lower the requests, correct the node selector or the tolerations of the package's "
            "class, or add a node that fits: no node can ever hold the pod.",
            steady(said),
        ),
    )


_NOT_HELPFUL = re.compile(r"0/(\d+) nodes are available: (\d+) Preemption is not helpful")
# The scheduler's reasons for a node that is temporarily unavailable, or that an administrator has
# reserved.
_PASSES = re.compile(r"were unschedulable|node\.kubernetes\.io/|node\.cloudprovider\.")


def never_fits(said: str) -> bool:
    """Whether the scheduler's message says that no node could hold the pod, even an empty one.

    A node that is only temporarily unavailable is no such reason.
    """
    if _PASSES.search(said) or re.search(r"0/0 nodes|no nodes available", said):
        return False
    found = _NOT_HELPFUL.search(said.partition("preemption:")[2])
    if found:
        return found[1] == found[2]
    return (
        "preemption:" not in said
        and "0/" in said
        and not re.search(r"Insufficient|Too many pods", said)
    )


_REFUSALS: tuple[tuple[Refusal, str, str], ...] = (
    (Refusal.QUOTA, r"exceeded quota|failed quota",
     "Raise the quota of the namespace, or wait until other pods end"),
    (Refusal.POD_SECURITY, r"violates PodSecurity",
     "Label the namespace with a Pod Security level that admits the pods"),
    (Refusal.LIMIT_RANGE,
     r"(maximum|minimum) \S+ (usage|storage) per|per (Pod|Container) is \S+, but (limit|request)"
     r"|LimitRange|max limit to request ratio",
     "Change the LimitRange of the namespace, or the resources of the package or its class"),
    (Refusal.WEBHOOK, r"failed (to call|calling) webhook",
     "Repair the admission webhook"),
    (Refusal.POLICY, r"denied the request|denied request|ValidatingAdmissionPolicy",
     "Follow the admission policy, or change it"),
    (Refusal.ACCOUNT, r"looking up service account|serviceaccount \S+ not found",
     "Create the ServiceAccount of the namespace"),
)  # fmt: skip


def refused_message(said: str) -> str:
    """Return the message for a refusal that concerns this package alone."""
    return with_details(
        "The cluster refuses an object that the next episode needs; correct the cause that the "
        "details name, and the operator tries again within a minute.",
        steady(said),
    )


def refusal_trouble(said: str) -> Trouble | None:
    """Return the API server's refusal as a shared cause, if it will refuse other packages too."""
    for kind, pattern, remedy in _REFUSALS:
        if re.search(pattern, said, re.IGNORECASE):
            return Trouble(
                cause=Cause.REFUSAL,
                subject=kind,
                reason=Reason.START_REFUSED,
                message=with_details(
                    f"{remedy}; the cluster refuses an object that the next episode needs.",
                    steady(said),
                ),
            )
    return None


_REMOTE_OUTCOMES = frozenset({Outcome.INFRASTRUCTURE, Outcome.AUTH, Outcome.CONFIG})


def trouble_at_end(episode: Episode, outcome: Outcome, message: str) -> Trouble | None:
    """Return the trouble of a runner that ended before it had fetched the repository, or None."""
    report = episode.report
    if report is None or not report.final or outcome not in _REMOTE_OUTCOMES:
        return None
    if "runnerStarted" not in report.phases or "prepared" in report.phases:
        return None
    # A push is refused because of one branch or its content, so each package tries on its own.
    if not any(item.is_servers and not item.unpushed for item in report.results):
        return None
    unreachable = outcome is Outcome.INFRASTRUCTURE
    return Trouble(
        cause=Cause.REPOSITORY,
        reason=Reason.GIT_UNREACHABLE if unreachable else str(outcome),
        message=message,
    )

"""The labels and annotations that Afresh sets or reads: data for docs/reference/labels.md."""

from dataclasses import dataclass

from afresh.api import work_package
from afresh.contract import pod_layout as at
from afresh.kube.ha import lease
from afresh.manifests import conformance, job

_JOBS = "Job, its pod"


@dataclass(frozen=True, slots=True)
class Name:
    """A label or an annotation: the objects that have it, and its meaning."""

    name: str
    where: str
    meaning: str


LABELS = (
    Name(
        at.LABEL_MANAGED_BY, f"Subtask, {_JOBS}, NetworkPolicy", "`afresh`: the operator created it"
    ),
    Name(at.LABEL_PACKAGE, f"Subtask, {_JOBS}", "the package's name"),
    Name(
        at.LABEL_SUBTASK,
        f"Subtask, {_JOBS}",
        "the subtask's id; for a batch, that of the first one",
    ),
    Name(at.LABEL_ATTEMPT, _JOBS, "the attempt's number; for a batch, that of the first subtask"),
    Name(at.LABEL_AGENT_CLASS, _JOBS, "the AgentClass"),
    Name(job.KUEUE_QUEUE_LABEL, "Job", "`spec.queueName` of the package, for Kueue"),
    Name(conformance.LABEL, "pod", "on the pod of `afresh conformance`"),
)
WRITTEN = (
    Name(
        work_package.RETRY_ANNOTATION,
        "WorkPackage",
        "each new value makes a stalled package try again at once",
    ),
    Name(
        work_package.CANCEL_ANNOTATION,
        "WorkPackage",
        "each new value stops the running episode, which then does not count",
    ),
)
READ = (
    Name(lease.ADDRESS, "Lease", "the address at which its holder receives Reports"),
    Name(at.ANNOTATION_ORDER, "pod", "the [Order](contract.md#the-order)"),
    Name(
        at.ANNOTATION_SEAL,
        _JOBS,
        "a keyed digest, which proves that the operator created it and that it is unchanged",
    ),
    Name(at.ANNOTATION_PASSWD, "pod", "`/etc/passwd` of its containers"),
    Name(
        at.ANNOTATION_BATCH,
        _JOBS,
        "the batch: `ID:ATTEMPT:REVISION` of each subtask, separated by commas",
    ),
    Name(at.ANNOTATION_MODE, _JOBS, "the context mode"),
    Name(
        at.ANNOTATION_GENERATIONS,
        _JOBS,
        "the generations of the package and the class from which it was created",
    ),
    Name(at.ANNOTATION_INPUTS, _JOBS, "a digest of the fields of them from which it was created"),
    Name(at.ANNOTATION_IMAGES, _JOBS, "a digest of the images of the package's episodes"),
    Name(at.ANNOTATION_GATE, _JOBS, "the gate that the episode probes, and its step"),
    Name(at.ANNOTATION_BUDGET, _JOBS, "the part of the budget that is reserved for it, as JSON"),
    Name(at.ANNOTATION_PLAN, _JOBS, "on the Job of a sync: the digest of the plan that it pushes"),
)


def render(names: tuple[Name, ...]) -> str:
    """Return the table of `names`."""
    rows = [f"| `{item.name}` | {item.where} | {item.meaning} |" for item in names]
    return "\n".join(["| name | on | meaning |", "|---|---|---|", *rows])

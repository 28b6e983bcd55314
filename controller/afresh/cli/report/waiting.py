"""What waits for a person in a package, why, and the commands that continue it. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass

from afresh.api.phases import PackagePhase
from afresh.api.work_package import WorkPackage
from afresh.cli.printable import plain_line
from afresh.contract.words import Outcome
from afresh.core.names import subtask_name
from afresh.core.reasons import Reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One thing that can be done, and the command for it."""

    what: str
    command: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitingForPerson:
    """What waits for a person, why, and the ways to continue; the whole package has no id."""

    id: str
    reason: str
    message: str
    ways: tuple[Way, ...]


def waiting(package: WorkPackage) -> Iterator[WaitingForPerson]:
    """Yield what waits: the package itself, then its subtasks."""
    ways = tuple(_ways_of_package(package))
    if ways:
        yield WaitingForPerson(
            id="",
            reason=plain_line(package.status.reason),
            message=plain_line(package.status.message),
            ways=ways,
        )
    for review in package.status.reviews:
        subtask = plain_line(review.id)
        yield WaitingForPerson(
            id=subtask,
            reason=plain_line(review.reason),
            message=plain_line(review.message),
            ways=tuple(_ways_of_subtask(package, subtask, review.reason)),
        )


def _ways_of_package(package: WorkPackage) -> Iterator[Way]:
    place = f"-n {package.metadata.namespace} {package.metadata.name}"
    match package.status.phase:
        case PackagePhase.STALLED:
            what = "Correct it; where that does not change the package, ask it to continue"
            yield Way(what=what, command=f"afresh retry {place}")
        case PackagePhase.FAILED:
            limited = package.status.reason == Reason.EPISODE_LIMIT
            field = "spec.maxEpisodes" if limited else "spec.budget"
            what = f"See below what took so much; raise {field}, and it continues"
            yield Way(what=what, command=f"kubectl edit wp {place}")
        case PackagePhase.SUSPENDED:
            yield Way(what="Let it continue", command=f"afresh resume {place}")


def _ways_of_subtask(package: WorkPackage, subtask: str, reason: str) -> Iterator[Way]:
    name, namespace = package.metadata.name, package.metadata.namespace
    place = f"-n {namespace} {name} {subtask}"
    if reason == Reason.TOO_MANY_FAILURES:
        child = subtask_name(name, subtask)
        see = f"kubectl describe st -n {namespace} {child}"
        yield Way(what="See how its last episodes ended", command=see)
    if reason == Outcome.OUT_OF_SCOPE:
        work = f"git fetch origin refs/afresh/{namespace}/{name}/{subtask}"
        yield Way(what="See what was done", command=work)
        what = "Widen its files or maxNewFiles in the package, and run it again"
    else:
        what = "Change it in the package, and run it again"
        guide = f'afresh guide {place} "..."'
        yield Way(what="Decide what to do, say it in a directive, and run it again", command=guide)
    yield Way(what=what, command=f"afresh retry {place}")
    yield Way(what="Leave it out", command=f"afresh skip {place}")

"""What can be wrong with a package or around it, and its remedy; one thing at a time."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Any

from afresh.api.package_status import SharedWait
from afresh.contract.pod_layout import RUNNER
from afresh.core.history.shared_causes import Cause as Shared
from afresh.core.reasons import Reason
from tests.core.exploration.edits import edited
from tests.core.exploration.events import Cause, Event
from tests.core.exploration.world import World, new_class


@dataclass(frozen=True, slots=True)
class Breakage:
    """Something wrong: how it comes about, and how it goes away."""

    name: str
    cause: Cause
    come: Callable[[World], World | None]
    go: Callable[[World], World]


def breakages() -> Iterator[Event]:
    """What stalls a package, each as two events: it comes where nothing is wrong, and it goes."""
    yield from _events(BREAKAGES)


def crowding() -> Iterator[Event]:
    """What keeps episodes from being started, and goes away; all else may happen meanwhile."""
    yield from _events(CROWDING)


def created_in(world: World) -> Iterator[World]:
    """A new package where one thing is wrong from the start."""
    for item in (*BREAKAGES, *CROWDING):
        broken = item.come(world)
        if broken:
            yield broken


def _events(items: Sequence[Breakage]) -> Iterator[Event]:
    for item in items:
        yield Event(item.name, item.cause, _coming(item))
        yield Event("corrected", item.cause, _going(item))


def _coming(item: Breakage) -> Callable[[World], World | None]:
    def come(world: World) -> World | None:
        broken = None if world.broken else item.come(world)
        phase = world.package.status.phase or ""
        return broken and replace(broken, broken=item.name, broken_in=phase)

    return come


def _going(item: Breakage) -> Callable[[World], World | None]:
    def go(world: World) -> World | None:
        return replace(item.go(world), broken="") if world.broken == item.name else None

    return go


def _of_world(**fields: Any) -> Callable[[World], World]:
    return lambda world: replace(world, **fields)


def _of_spec(**fields: Any) -> Callable[[World], World]:
    return lambda world: edited(world, **fields)


# As JSON, where a control character takes six bytes, this is more than an Order may hold.
_LONG = "\x01" * 32_000 + "x"
_LONG_GUIDANCE = [f"{number}" + "\x01" * 490 for number in range(20)]


def _with_prompts(prompt: str, guidance: list[str]) -> Callable[[World], World]:
    def apply(world: World) -> World:
        entries = [e.to_manifest() | {"prompt": prompt} for e in world.package.spec.subtasks]
        return edited(world, subtasks=entries, guidance=guidance)

    return apply


def _in_a_circle(world: World) -> World | None:
    entries = [entry.to_manifest() for entry in world.package.spec.subtasks]
    if len(entries) < 2:
        return None
    first, second = entries
    ring = [first | {"dependsOn": [second["id"]]}, second | {"dependsOn": [first["id"]]}]
    return edited(world, subtasks=ring)


def _in_no_circle(world: World) -> World:
    entries = [e.to_manifest() | {"dependsOn": []} for e in world.package.spec.subtasks]
    return edited(world, subtasks=entries)


def _with_price_limit(limit: str | None) -> Callable[[World], World]:
    def apply(world: World) -> World:
        budget = world.package.spec.budget
        return edited(
            world,
            budget={**(budget.to_manifest() if budget else {"maxTokens": 1}), "maxCostUSD": limit},
        )

    return apply


def _shared(cause: Shared, reason: Reason) -> Callable[[World], World]:
    """Another package tries, and this one waits behind the gate."""

    def apply(world: World) -> World:
        wait = SharedWait(
            cause=cause,
            key=RUNNER,  # of images, the one that every pod has
            since=world.now,
            until=world.now + timedelta(days=1),
            reason=reason,
            message="See to it.",
        )
        return replace(world, wait=wait)

    return apply


BREAKAGES = (
    Breakage(
        "an image that cannot be pulled",
        Cause.LOOP,
        _shared(Shared.IMAGE, Reason.IMAGE_NOT_PULLED),
        _of_world(wait=None),
    ),
    Breakage(
        "a pod that fits no node",
        Cause.LOOP,
        _shared(Shared.FIT, Reason.NEVER_FITS),
        _of_world(wait=None),
    ),
    Breakage(
        "a git server that is away",
        Cause.LOOP,
        _shared(Shared.REPOSITORY, Reason.GIT_UNREACHABLE),
        _of_world(wait=None),
    ),
    Breakage("the first pods start", Cause.LOOP, _of_world(first_free=0), _of_world(first_free=4)),
    Breakage("the nodes are full", Cause.LOOP, _of_world(room=0), _of_world(room=10)),
    Breakage(
        "class deleted",
        Cause.PERSON,
        _of_world(agent_class=None),
        _of_world(agent_class=new_class()),
    ),
    Breakage(
        "another package on the branch",
        Cause.PERSON,
        _of_world(rival="team-a/other"),
        _of_world(rival=None),
    ),
    Breakage("a circle", Cause.PERSON, _in_a_circle, _in_no_circle),
    Breakage(
        "another image",
        Cause.PERSON,
        _of_spec(image="example.com/other:1"),
        _of_spec(image=None),
    ),
    Breakage(
        "a budget without prices", Cause.PERSON, _with_price_limit("1"), _with_price_limit(None)
    ),
    Breakage("many processes", Cause.PERSON, _of_spec(pidsLimit=4096), _of_spec(pidsLimit=None)),
    Breakage(
        "an API that the program does not speak",
        Cause.PERSON,
        _of_world(agent_class=new_class(modelAPI="OpenAI")),
        _of_world(agent_class=new_class()),
    ),
    Breakage(
        "large prompts",
        Cause.PERSON,
        _with_prompts(_LONG, _LONG_GUIDANCE),
        _with_prompts("Do it.", []),
    ),
)

CROWDING = (
    Breakage("the class is full", Cause.LOOP, _of_world(busy=True), _of_world(busy=False)),
    Breakage(
        "refused by the API server",
        Cause.LOOP,
        _of_world(refuses=True),
        _of_world(refuses=False),
    ),
)

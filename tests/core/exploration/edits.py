"""What a person can do to a small world: edit the package, suspend it, ask something of it."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from afresh.api.subtask import SubtaskEntry
from afresh.api.work_package import CANCEL_ANNOTATION, RETRY_ANNOTATION
from afresh.core.history.budget import is_spent
from tests.core.exploration.events import BUDGET_TOKENS, Cause, Change, Event
from tests.core.exploration.world import FIRST, World


def answers() -> Iterator[Event]:
    """What a person can answer to a subtask that came to rest."""
    yield Event("revision raised", Cause.PERSON, _raise_revision)
    yield Event("skip", Cause.PERSON, _of_entry(lambda e: None if e.skip else {"skip": True}))
    yield Event("skip removed", Cause.PERSON, _of_entry(_unskip))


def edits() -> Iterator[Event]:
    """What a person can do to the first subtask."""
    yield from answers()
    yield Event("guidance", Cause.PERSON, _of_entry(_guide))
    yield Event("removed", Cause.PERSON, _remove)
    yield Event("added again", Cause.PERSON, _add_again)


def pauses() -> Iterator[Event]:
    """A person suspends the package, and lets it go on."""
    yield Event("suspend", Cause.PERSON, _suspend(True))
    yield Event("resume", Cause.PERSON, _suspend(False))


def requests() -> Iterator[Event]:
    """What a person can ask of the package as a whole."""
    yield from pauses()
    yield Event("cancel", Cause.PERSON, _annotate(CANCEL_ANNOTATION))
    yield Event("retry", Cause.PERSON, _annotate(RETRY_ANNOTATION))
    yield Event("deleted", Cause.PERSON, _delete)


def raised_limits() -> Iterator[Event]:
    """A person gives the package more where it has used up what it may."""
    yield Event("maxEpisodes raised", Cause.PERSON, _more_episodes)
    yield Event("budget raised", Cause.PERSON, _more_budget)


def edited(world: World, **spec: Any) -> World:
    """Return the world with fields of the package's spec changed, by their YAML names."""
    package = world.package
    manifest = {**package.spec.to_manifest(), **spec}
    return replace(
        world,
        package=package.model_copy(
            update={
                "spec": type(package.spec).model_validate(manifest),
                "metadata": package.metadata.model_copy(
                    update={"generation": (package.metadata.generation or 0) + 1}
                ),
            }
        ),
    )


def _of_entry(change: Callable[[SubtaskEntry], dict[str, object] | None]) -> Change:
    def apply(world: World) -> World | None:
        entries = world.package.spec.subtasks
        entry = next((item for item in entries if item.id == FIRST), None)
        fields = change(entry) if entry else None
        if entry is None or fields is None:
            return None
        kept = [e.to_manifest() | (fields if e is entry else {}) for e in entries]
        return edited(world, subtasks=kept)

    return apply


def _unskip(entry: SubtaskEntry) -> dict[str, object] | None:
    return {"skip": False} if entry.skip else None


def _guide(entry: SubtaskEntry) -> dict[str, object] | None:
    return None if entry.guidance else {"guidance": ["Use JWT."]}


def _raise_revision(world: World) -> World | None:
    known = {record.id: record for record in world.package.status.subtasks}
    observed = known[FIRST].observed_revision if FIRST in known else 0
    raised = _of_entry(lambda e: {"revision": e.revision + 1} if e.revision == observed else None)
    return raised(world)


def _remove(world: World) -> World | None:
    entries = world.package.spec.subtasks
    kept = [entry.to_manifest() for entry in entries if entry.id != FIRST]
    return edited(world, subtasks=kept) if len(kept) < len(entries) else None


def _add_again(world: World) -> World | None:
    entries = world.package.spec.subtasks
    if any(entry.id == FIRST for entry in entries):
        return None
    again = {"id": FIRST, "prompt": "Do it."}
    return edited(world, subtasks=[again, *(e.to_manifest() for e in entries)])


def _suspend(wanted: bool) -> Change:
    def apply(world: World) -> World | None:
        if world.package.spec.suspend is wanted:
            return None
        return edited(world, suspend=wanted)

    return apply


def _more_episodes(world: World) -> World | None:
    limit, used = world.package.spec.max_episodes, world.package.status.usage.episodes
    return edited(world, maxEpisodes=limit + 2) if used >= limit else None


def _more_budget(world: World) -> World | None:
    limits, used = world.package.spec.budget, world.package.status.usage
    if limits is None or not is_spent(limits, used):
        return None
    return edited(world, budget={"maxTokens": used.input_tokens + BUDGET_TOKENS})


def _annotate(name: str) -> Change:
    def apply(world: World) -> World:
        metadata = world.package.metadata
        asked = {**metadata.annotations, name: world.now.isoformat()}
        changed = metadata.model_copy(update={"annotations": asked})
        return replace(world, package=world.package.model_copy(update={"metadata": changed}))

    return apply


def _delete(world: World) -> World | None:
    metadata = world.package.metadata
    if metadata.deletion_timestamp:
        return None
    gone = metadata.model_copy(update={"deletion_timestamp": world.now})
    return replace(world, package=world.package.model_copy(update={"metadata": gone}))

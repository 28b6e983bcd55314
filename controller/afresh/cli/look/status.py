"""Shows where packages stand: once, or as they change; in place on a terminal, else line by line.

Owns what is read for it. Imports the Kubernetes client, which takes a while: commands import this
when they run.
"""

import asyncio
import contextlib
import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Protocol, TypeVar

from rich.console import Console
from rich.text import Text

from afresh import clock
from afresh.api.agent_class import AgentClass
from afresh.api.meta import KubernetesObject
from afresh.api.subtask import SubtaskObject
from afresh.api.work_package import WorkPackage
from afresh.cli.connection import connected, missing_package, no_such_package
from afresh.cli.look.changes import changes
from afresh.cli.look.live_lists import Collection, Live
from afresh.cli.look.package_view import PackageView, unreadable_view, view_of
from afresh.cli.look.status_table import table
from afresh.cli.look.status_tree import tree
from afresh.cli.look.terminal import draw, line, picture_in_place, standard_output, write
from afresh.cli.looks import Awaited, Output, StatusLook
from afresh.core.reasons import Reason
from afresh.kube.client import Kube
from afresh.kube.errors import NotFoundError, RefusedError, UnreadableError
from afresh.kube.models import parse
from afresh.kube.resources import AGENT_CLASSES, SUBTASKS, WORK_PACKAGES, Manifest

SECONDS = 45
# How often durations are drawn anew.
TICK_SECONDS = 1.0

K = TypeVar("K", bound=KubernetesObject)
Objects = Callable[[Collection], Sequence[Manifest]]
Size = tuple[int, int | None]


class Picture(Protocol):
    """What is to be shown: what is read for it, and how it is drawn."""

    @property
    def collections(self) -> Sequence[Collection]:
        """What is read."""

    async def views(self, objects: Objects, now: datetime) -> list[PackageView]:
        """Return what is to be seen now."""

    def lines(self, views: Sequence[PackageView], size: Size) -> list[Text]:
        """Return it as lines."""

    def over(self, views: Sequence[PackageView], /) -> bool:
        """Whether there is nothing to wait for."""


class _Models:
    """Parses each version of an object once: a watch of 200 subtasks looks at them every second."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[str, KubernetesObject]] = {}

    def parse(self, kind: type[K], raw: Manifest) -> K:
        """Return the object. Raises UnreadableError."""
        meta = raw["metadata"]
        version, found = self._known.get(meta["uid"], ("", None))
        if version != meta["resourceVersion"] or not isinstance(found, kind):
            found = parse(kind, raw)
            self._known[meta["uid"]] = (meta["resourceVersion"], found)
        return found


class OnePackage:
    """A package with all of its subtasks."""

    def __init__(self, kube: Kube, namespace: str, name: str) -> None:
        self._kube, self._namespace, self._name = kube, namespace, name
        self._models = _Models()
        self._package = Collection(WORK_PACKAGES, namespace, f"metadata.name={name}")
        self._subtasks = Collection(SUBTASKS, namespace, f"spec.workPackageName={name}")
        self.collections = (self._package, self._subtasks)
        self._seen = False

    async def views(self, objects: Objects, now: datetime) -> list[PackageView]:
        """Return the package, or nothing once it is gone. Raises CommandError if it never was."""
        found = objects(self._package)
        if not found and not self._seen:
            raise no_such_package(self._name, self._namespace)
        self._seen = True
        package = [self._models.parse(WorkPackage, raw) for raw in found]
        children = [self._models.parse(SubtaskObject, raw) for raw in objects(self._subtasks)]
        return [view_of(one, now, children, await self._classes(one)) for one in package]

    async def _classes(self, package: WorkPackage) -> list[AgentClass]:
        """The classes, in which closed gates stand; none where a person may not see them."""
        if package.status.reason != Reason.GATE_CLOSED:
            return []
        with contextlib.suppress(RefusedError):
            found = await self._kube.list_items(AGENT_CLASSES, None)
            return [self._models.parse(AgentClass, raw) for raw in found]
        return []

    def lines(self, views: Sequence[PackageView], size: Size) -> list[Text]:
        """Return the tree."""
        if not views:
            return [line(f"{self._namespace}/{self._name} was deleted.")]
        return tree(views[0], *size)

    def over(self, views: Sequence[PackageView]) -> bool:
        """Whether nothing goes on by itself."""
        return all(view.over for view in views)


class AllPackages:
    """Every package of a namespace, or of all (None), one row each."""

    def __init__(self, namespace: str | None) -> None:
        self._namespace = namespace
        self._models = _Models()
        self._packages = Collection(WORK_PACKAGES, namespace)
        self.collections = (self._packages,)

    async def views(self, objects: Objects, now: datetime) -> list[PackageView]:
        """Return all of them, in the order of their names."""
        return [self._view(raw, now) for raw in objects(self._packages)]

    def _view(self, raw: Manifest, now: datetime) -> PackageView:
        try:
            return view_of(self._models.parse(WorkPackage, raw), now)
        except UnreadableError as error:
            meta = raw["metadata"]
            return unreadable_view(meta["namespace"], meta["name"], str(error))

    def lines(self, views: Sequence[PackageView], size: Size) -> list[Text]:
        """Return the table."""
        if not views:
            where = f"in the namespace {self._namespace}" if self._namespace else "in this cluster"
            return [line(f"There is no WorkPackage {where}.")]
        return table(views, *size, namespaces=self._namespace is None)

    def over(self, _views: Sequence[PackageView]) -> bool:
        """Never: another package may come."""
        return False


def show(look: StatusLook) -> None:
    """Show what is asked for on standard output. Raises CommandError."""
    asyncio.run(_show(look, standard_output()))


async def _show(look: StatusLook, console: Console) -> None:
    async with connected(look.place, None if look.watch else SECONDS) as (kube, namespace):
        picture: Picture = AllPackages(None if look.everywhere else namespace)
        if look.package:
            picture = OnePackage(kube, namespace, look.package)
        try:
            if look.watch:
                await _watch(look, kube, picture, console)
            else:
                await _show_once(look, kube, picture, console)
        except NotFoundError as error:
            raise missing_package(look.package or "", namespace, error) from error


async def _show_once(look: StatusLook, kube: Kube, picture: Picture, console: Console) -> None:
    found = {
        item: await kube.list_items(item.resource, item.namespace, **item.selectors)
        for item in picture.collections
    }
    views = await picture.views(found.__getitem__, clock.now())
    if look.output is Output.TEXT:
        write(console, picture.lines(views, (console.width, None)))
        return
    told = [view.to_json() for view in views]
    print(json.dumps(told[0] if look.package else {"packages": told}, indent=2))


async def _watch(look: StatusLook, kube: Kube, picture: Picture, console: Console) -> None:
    async with Live(kube, picture.collections) as live:
        if console.is_terminal and look.output is Output.TEXT:
            await _draw(live, picture, console)
        else:
            await _tell(live, picture, look.output)


async def _draw(live: Live, picture: Picture, console: Console) -> None:
    """Draw in place until all is over; what was seen last stays on the terminal."""
    views: list[PackageView] | None = None
    try:
        with picture_in_place(console) as screen:
            while True:
                views = await picture.views(live.objects, clock.now())
                draw(screen, picture.lines(views, console.size))
                if picture.over(views):
                    return
                await live.changed(TICK_SECONDS)
    finally:
        if views is not None:
            write(console, picture.lines(views, (console.width, None)))


async def _tell(live: Live, picture: Picture, output: Output) -> None:
    """Write what changes: a line for each change, or an object for each changed package."""
    known: dict[str, PackageView] = {}
    while True:
        now = clock.now()
        views = await picture.views(live.objects, now)
        current = {f"{view.namespace}/{view.name}": view for view in views}
        for name, view in current.items():
            told = list(changes(known.get(name), view))
            if told and output is Output.JSON:
                print(json.dumps(view.to_json()), flush=True)
            elif told:
                print(*(f"{now:%Y-%m-%dT%H:%M:%SZ} {text}" for text in told), sep="\n", flush=True)
        for name in known.keys() - current.keys():
            gone = {"namespace": known[name].namespace, "name": known[name].name}
            said = f"{now:%Y-%m-%dT%H:%M:%SZ} {name} was deleted."
            as_json = json.dumps({**gone, "phase": Awaited.DELETED})
            print(as_json if output is Output.JSON else said, flush=True)
        known = current
        if picture.over(views):
            return
        await live.changed()

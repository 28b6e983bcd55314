"""Follows packages as they change: in place on a terminal, otherwise a line for each change.

Imports the Kubernetes client, which takes a while: `status` imports this when it is needed.
"""

import asyncio
import contextlib
import json
from collections.abc import Sequence

from rich.console import Console

from afresh import clock
from afresh.cli.connection import connected
from afresh.cli.look.changes import changes
from afresh.cli.look.live_lists import Live
from afresh.cli.look.package_view import PackageView
from afresh.cli.look.pictures import CLASSES, Picture, picture_of
from afresh.cli.look.terminal import draw, picture_in_place, standard_output, write
from afresh.cli.looks import Awaited, StatusForm, StatusLook
from afresh.cli.session import missing_package
from afresh.kube.client import Kube
from afresh.kube.errors import NotFoundError, RefusedError
from afresh.kube.resources import Manifest

# How often durations are drawn again.
TICK_SECONDS = 1.0


def watch(look: StatusLook) -> None:
    """Show what changes until there is nothing to wait for. Raises CommandError."""
    wide = look.form is StatusForm.WIDE
    asyncio.run(_watch(look, standard_output(wide=wide)))


async def _watch(look: StatusLook, console: Console) -> None:
    async with connected(look.place, None) as (kube, namespace):
        picture = picture_of(look, namespace)
        try:
            async with Live(kube, picture.collections) as live:
                seen = _Seen(kube, live, picture)
                if console.is_terminal and look.form is not StatusForm.JSON:
                    await _draw(seen, console)
                else:
                    await _report(seen, look.form)
        except NotFoundError as error:
            raise missing_package(look.package or "", namespace, error) from error


class _Seen:
    """A picture of what the cluster has now."""

    def __init__(self, kube: Kube, live: Live, picture: Picture) -> None:
        self._kube, self.live, self.picture = kube, live, picture

    async def views(self) -> list[PackageView]:
        """Return the packages as they are now. Raises KubeError and CommandError."""
        classes: Sequence[Manifest] = ()
        if self.picture.needs_classes(self.live.objects):
            with contextlib.suppress(RefusedError):
                classes = await self._kube.list_items(CLASSES.resource, None)
        return self.picture.views(self.live.objects, classes, clock.now())


async def _draw(seen: _Seen, console: Console) -> None:
    """Draw in place until the end; the last picture stays on the terminal."""
    views: list[PackageView] | None = None
    try:
        with picture_in_place(console) as screen:
            while True:
                views = await seen.views()
                draw(screen, seen.picture.lines(views, console.size))
                if seen.picture.over(views):
                    return
                await seen.live.changed(TICK_SECONDS)
    finally:
        if views is not None:
            write(console, seen.picture.lines(views, (console.width, None)))


async def _report(seen: _Seen, form: StatusForm) -> None:
    """Write what changes: a line for each change, or an object for each changed package."""
    known: dict[str, PackageView] = {}
    while True:
        views = await seen.views()
        stamp = f"{clock.now():%Y-%m-%dT%H:%M:%SZ}"
        current = {f"{view.namespace}/{view.name}": view for view in views}
        for name, view in current.items():
            lines = list(changes(known.get(name), view))
            if lines and form is StatusForm.JSON:
                print(json.dumps(view.to_json()), flush=True)
            elif lines:
                print(*(f"{stamp} {text}" for text in lines), sep="\n", flush=True)
        for name in known.keys() - current.keys():
            gone = {"namespace": known[name].namespace, "name": known[name].name}
            as_json = json.dumps({**gone, "phase": Awaited.DELETED})
            as_text = f"{stamp} {name} was deleted."
            print(as_json if form is StatusForm.JSON else as_text, flush=True)
        known = current
        if seen.picture.over(views):
            return
        await seen.live.changed()

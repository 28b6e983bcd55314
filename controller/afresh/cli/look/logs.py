"""Writes the logs of a package's episodes: those that are meant, and with -f all that come after.

The lines go to standard output; what they are goes to standard error. Imports the Kubernetes
client, which takes a while: commands import this when they run.
"""

import asyncio
import json
import sys
from dataclasses import dataclass, field

from afresh.api.phases import ENDED, PackagePhase, SubtaskPhase
from afresh.api.subtask import SubtaskObject
from afresh.api.work_package import WorkPackage
from afresh.cli.connection import connected
from afresh.cli.look.collection import Collection
from afresh.cli.look.episode_choice import Chosen, choose, episodes
from afresh.cli.look.episode_log import LogReader
from afresh.cli.look.live_lists import Live
from afresh.cli.look.package_view import is_current
from afresh.cli.looks import LogLook, Output
from afresh.cli.printable import plain_line, plain_lines
from afresh.cli.requests import CommandError
from afresh.cli.session import missing_package, no_such_package
from afresh.kube.errors import NotFoundError
from afresh.kube.models import parse
from afresh.kube.resources import SUBTASKS, WORK_PACKAGES

FINISHED = (SubtaskPhase.DONE, SubtaskPhase.NEEDS_REVIEW, SubtaskPhase.SKIPPED)


def show(look: LogLook) -> None:
    """Write what is asked for. Raises CommandError."""
    asyncio.run(_show(look))


async def _show(look: LogLook) -> None:
    name = look.target.package
    # A person may read the lines in a pager for hours; each request has a limit of its own.
    async with connected(look.target, None) as (kube, namespace):
        package = Collection(WORK_PACKAGES, namespace, f"metadata.name={name}")
        subtasks = Collection(SUBTASKS, namespace, f"spec.workPackageName={name}")
        try:
            async with Live(kube, (package, subtasks)) as live:
                if not live.objects(package):
                    raise no_such_package(name, namespace)
                logs = _Logs(look, _Watched(live, package, subtasks), LogReader(kube, namespace))
                await (logs.follow() if look.follow else logs.read())
        except NotFoundError as error:
            raise missing_package(name, namespace, error) from error


@dataclass(frozen=True, slots=True)
class _Watched:
    """A package and its subtasks as they are now."""

    live: Live
    _package: Collection
    _subtasks: Collection

    def package(self) -> WorkPackage | None:
        found = self.live.objects(self._package)
        return parse(WorkPackage, found[0]) if found else None

    def children(self) -> list[SubtaskObject]:
        return [parse(SubtaskObject, raw) for raw in self.live.objects(self._subtasks)]

    def newest(self, item: Chosen) -> Chosen:
        """The same episode as the status has it now."""
        known = {one.key: one for one in episodes(self.children(), item.subtask)}
        return known.get(item.key, item)


@dataclass
class _Logs:
    look: LogLook
    watched: _Watched
    reader: LogReader
    _turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    _said: str = ""

    async def read(self) -> None:
        """Write the logs that are meant, as far as they are."""
        chosen = self._meant()
        if not chosen:
            what = self.look.subtask or self.look.target.package
            raise CommandError(f"No episode of {what} has started yet.")
        for item in chosen:
            await self._write(item, prefix=len(chosen) > 1)

    async def follow(self) -> None:
        """Write the logs that are meant, and those of all episodes that come after them."""
        meant = self._meant()
        passed = {item.key for item in episodes(self.watched.children(), self.look.subtask)}
        passed -= {item.key for item in meant}
        writing: set[asyncio.Task[None]] = set()
        try:
            while True:
                for item in self._begun(meant):
                    if item.key not in passed:
                        passed.add(item.key)
                        writing.add(asyncio.create_task(self._write_in_turn(item)))
                over = self._over()
                if over and not writing:
                    break
                if not over:
                    self._say_why_not(over=False)
                writing = await self._some_time(writing)
        finally:
            for task in writing:
                task.cancel()
            await asyncio.gather(*writing, return_exceptions=True)
        self._say_why_not(over=True)

    def _meant(self) -> list[Chosen]:
        children = self.watched.children()
        made = self.look.subtask in (None, *(child.spec.id for child in children))
        package = None if made else self.watched.package()
        listed = [entry.id for entry in package.spec.subtasks] if package else []
        return choose(children, self.look.subtask, self.look.attempt, listed)

    async def _some_time(self, writing: set[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
        """Wait until something has changed or a log has ended; return the logs that continue."""
        changed = asyncio.create_task(self.watched.live.changed())
        try:
            done, _ = await asyncio.wait({changed, *writing}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            changed.cancel()
        for task in done:
            task.result()
        return writing - done

    def _begun(self, meant: list[Chosen]) -> list[Chosen]:
        if self.look.attempt is not None:
            return meant
        return episodes(self.watched.children(), self.look.subtask)

    def _over(self) -> bool:
        """Whether no episode that is meant comes any more."""
        package = self.watched.package()
        if package is None or self.look.attempt is not None:
            return True
        records = {record.id: record for record in package.status.subtasks}
        record = records.get(self.look.subtask or "")
        finished = record is not None and record.phase in FINISHED
        return is_current(package) and (finished or package.status.phase in ENDED)

    def _say_why_not(self, *, over: bool) -> None:
        """Print the package's phase once, when it keeps further logs from coming."""
        package = self.watched.package()
        if package is None or (package.status.phase is PackagePhase.RUNNING and not over):
            return
        status = package.status
        message = plain_line(status.message)
        said = f"{self.look.target.package} is {status.phase or 'Pending'}: {message}"
        if message and said != self._said:
            self._said = said
            _note(said)

    async def _write_in_turn(self, item: Chosen) -> None:
        """Write one log; where one episode runs at a time, none before the last is whole."""
        package = self.watched.package()
        if package and package.spec.parallelism > 1:
            await self._write(item, prefix=True)
            return
        async with self._turn:
            await self._write(item)

    async def _write(self, item: Chosen, *, prefix: bool = False) -> None:
        log = await self.reader.open(
            item, lambda: self.watched.newest(item), follow=self.look.follow
        )
        _note(log.about)
        async for text in log.lines:
            said = plain_lines(text)
            if self.look.output is Output.JSON:
                fields = {"subtask": item.subtask, "attempt": item.attempt.number}
                print(json.dumps({**fields, "source": log.source, "line": said}), flush=True)
            else:
                print(f"{item.subtask}: {said}" if prefix else said, flush=True)


def _note(text: str) -> None:
    print(f"--- {text}", file=sys.stderr, flush=True)

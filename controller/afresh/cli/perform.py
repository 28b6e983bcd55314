"""Does on a cluster what a command asks for.

Owns the retries; what changes is decided in `edits`, and what a report says in
`report`. Imports the Kubernetes client, which takes a while: commands import this when they run.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

import yaml

from afresh import clock
from afresh.api.work_package import WorkPackage
from afresh.cli.branch_files import read_notes
from afresh.cli.connection import connected
from afresh.cli.edits import Edit, edit_of
from afresh.cli.markdown import write_markdown
from afresh.cli.report import report_on
from afresh.cli.requests import ChangeForm, CommandError, Form, Request, Target
from afresh.kube.client import WORK_PACKAGES, Kube
from afresh.kube.errors import ConflictError, NotFoundError, RefusedError
from afresh.kube.observe import parse

SECONDS = 45
TRIES = 5
COPY = "Lines to copy into a manifest that is kept in git:"

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Stored:
    """One package of one cluster."""

    kube: Kube
    namespace: str
    name: str

    async def read(self) -> WorkPackage:
        """Return the package as it is now. Raises KubeError and UnreadableError."""
        return parse(WorkPackage, await self.kube.get(WORK_PACKAGES, self.namespace, self.name))

    async def change(self, request: Request) -> Edit:
        """Make the change that `request` asks for and return it, or raise why not.

        A patch that rests on what is no longer so is refused; one that is refused though nothing
        it rests on has changed will always be.
        """
        for last in (False,) * (TRIES - 1) + (True,):
            edit = edit_of(request, await self.read(), clock.now())
            if not edit.operations:
                return edit
            try:
                await self.kube.patch(WORK_PACKAGES, self.namespace, self.name, edit.operations)
                return edit
            except ConflictError:
                if last:
                    raise
            except RefusedError:
                if last or _alike(edit, edit_of(request, await self.read(), clock.now())):
                    raise
        raise AssertionError("the last try returns or raises")


def change(request: Request, form: ChangeForm, target: Target) -> str:
    """Change the package as asked and return what to tell. Raises CommandError."""
    return asyncio.run(_on(target, lambda stored: _changed(stored, request, form)))


async def _changed(stored: Stored, request: Request, form: ChangeForm) -> str:
    edit = await stored.change(request)
    if form is ChangeForm.JSON:
        where = {"namespace": stored.namespace, "package": stored.name}
        told = {**where, "message": edit.message, "changed": edit.changed()}
        return json.dumps(told, indent=2) + "\n"
    if edit.lines is None:
        return f"{edit.message}\n"
    lines = yaml.safe_dump(edit.lines, sort_keys=False, allow_unicode=True, width=1000)
    return f"{edit.message}\n\n{COPY}\n\n{lines}"


def report(form: Form, target: Target) -> str:
    """Return the report on the package. Raises CommandError."""
    package = asyncio.run(_on(target, lambda stored: stored.read()))
    notes = read_notes(package.spec.repository.url, package.status.branch or package.branch)
    told = report_on(package, notes)
    if form is Form.JSON:
        return json.dumps(told.to_json(), indent=2) + "\n"
    return write_markdown(told) + "\n"


async def _on(target: Target, work: Callable[[Stored], Awaitable[T]]) -> T:
    async with connected(target, SECONDS) as (kube, namespace):
        return await _telling(work, Stored(kube, namespace, target.package))


async def _telling(work: Callable[[Stored], Awaitable[T]], stored: Stored) -> T:
    try:
        return await work(stored)
    except NotFoundError as error:
        if f'"{stored.name}" not found' not in str(error):
            raise CommandError("This cluster has no WorkPackages: install Afresh on it.") from error
        raise CommandError(
            f"There is no WorkPackage {stored.name} in the namespace {stored.namespace};"
            f" see kubectl get wp -n {stored.namespace}."
        ) from error


def _alike(one: Edit, other: Edit) -> bool:
    """Whether both do the same, resting on the same; the time in an annotation does not count."""
    parts = [
        [(op["op"], op["path"], op["value"] if op["op"] == "test" else None) for op in operations]
        for operations in (one.operations, other.operations)
    ]
    return parts[0] == parts[1]

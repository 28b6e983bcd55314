"""Does on a cluster what a command asks for.

Owns the retries; what changes is decided in `edits`, and what a report says in
`report`. Imports the Kubernetes client, which takes a while: commands import this when they run.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar, assert_never

import yaml

from afresh import clock
from afresh.api.subtask import SubtaskObject
from afresh.api.work_package import WorkPackage
from afresh.cli.connection import connected
from afresh.cli.copies import copy_of
from afresh.cli.edits import Edit, edit_of
from afresh.cli.report.branch_files import read_notes
from afresh.cli.report.comparison import Told
from afresh.cli.report.comparison import compare as compare_packages
from afresh.cli.report.comparison_table import write_comparison_markdown, write_terminal
from afresh.cli.report.markdown import write_markdown
from afresh.cli.report.report import report_on
from afresh.cli.requests import (
    ChangeForm,
    CommandError,
    ComparisonForm,
    Copy,
    Form,
    Request,
    Target,
)
from afresh.cli.session import missing_package
from afresh.kube.client import Kube
from afresh.kube.errors import ConflictError, NotFoundError, RefusedError
from afresh.kube.models import parse
from afresh.kube.resources import SUBTASKS, WORK_PACKAGES

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

    async def read_all(self) -> tuple[WorkPackage, tuple[SubtaskObject, ...]]:
        """Return the package and its Subtasks. Raises KubeError and UnreadableError."""
        package = await self.read()
        found = await self.kube.list_items(
            SUBTASKS, self.namespace, fieldSelector=f"spec.workPackageName={self.name}"
        )
        return package, tuple(parse(SubtaskObject, item) for item in found)

    async def change(self, request: Request) -> Edit:
        """Make the change that `request` asks for and return it, or raise why not.

        A patch is refused if a value that it tests has changed: then it is built again. If it is
        refused although none has changed, trying again would not help.
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
        shown = {**where, "message": edit.message, "changed": edit.changed()}
        return json.dumps(shown, indent=2) + "\n"
    if edit.lines is None:
        return f"{edit.message}\n"
    lines = yaml.safe_dump(edit.lines, sort_keys=False, allow_unicode=True, width=1000)
    return f"{edit.message}\n\n{COPY}\n\n{lines}"


def report(form: Form, target: Target) -> str:
    """Return the report on the package. Raises CommandError."""
    package, children = asyncio.run(_on(target, lambda stored: stored.read_all()))
    notes = read_notes(package.spec.repository.url, package.status.branch or package.branch)
    shown = report_on(package, children, notes, clock.now())
    match form:
        case Form.JSON:
            return json.dumps(shown.to_json(), indent=2) + "\n"
        case Form.HTML:
            # The template engine is slow to import; no other form needs it.
            from afresh.cli.report.html_report import write_html  # noqa: PLC0415

            return write_html(shown)
        case Form.MARKDOWN:
            return write_markdown(shown) + "\n"
        case _:
            assert_never(form)


def copy(request: Copy, form: ChangeForm, target: Target) -> str:
    """Make the copy and return what to tell. Raises CommandError."""
    return asyncio.run(_on(target, lambda stored: _copied(stored, request, form)))


async def _copied(stored: Stored, request: Copy, form: ChangeForm) -> str:
    manifest = await stored.kube.get(WORK_PACKAGES, stored.namespace, stored.name)
    copied = copy_of(manifest, request)
    try:
        created = await stored.kube.create(WORK_PACKAGES, stored.namespace, copied)
    except ConflictError as error:
        raise CommandError(
            f"There is a WorkPackage {request.name} in the namespace {stored.namespace} already:"
            " choose another name."
        ) from error
    made = parse(WorkPackage, created)
    message = (
        f"{request.name} is asked for the same as {stored.name}, in the context mode"
        f" {made.spec.context.mode}, on the branch {made.branch}."
    )
    if form is ChangeForm.TEXT:
        return f"{message}\n"
    where = {"namespace": stored.namespace, "package": request.name}
    return json.dumps({**where, "message": message, "changed": copied}, indent=2) + "\n"


def compare(form: ComparisonForm, target: Target, other: str) -> str:
    """Return the package and `other` of the same namespace side by side. Raises CommandError."""
    both = asyncio.run(_both(target, other))
    compared = compare_packages(*both, clock.now())
    match form:
        case ComparisonForm.JSON:
            return json.dumps(compared.to_json(), indent=2) + "\n"
        case ComparisonForm.MARKDOWN:
            return write_comparison_markdown(compared) + "\n"
        case ComparisonForm.TABLE:
            return write_terminal(compared) + "\n"
        case _:
            assert_never(form)


async def _both(target: Target, other: str) -> tuple[Told, Told]:
    async with connected(target, SECONDS) as (kube, namespace):
        first = await _reporting_missing(Stored.read_all, Stored(kube, namespace, target.package))
        second = await _reporting_missing(Stored.read_all, Stored(kube, namespace, other))
    return first, second


async def _on(target: Target, work: Callable[[Stored], Awaitable[T]]) -> T:
    async with connected(target, SECONDS) as (kube, namespace):
        return await _reporting_missing(work, Stored(kube, namespace, target.package))


async def _reporting_missing(work: Callable[[Stored], Awaitable[T]], stored: Stored) -> T:
    try:
        return await work(stored)
    except NotFoundError as error:
        raise missing_package(stored.name, stored.namespace, error) from error


def _alike(one: Edit, other: Edit) -> bool:
    """Whether both do the same, resting on the same; the time in an annotation does not count."""
    parts = [
        [(op["op"], op["path"], op["value"] if op["op"] == "test" else None) for op in operations]
        for operations in (one.operations, other.operations)
    ]
    return parts[0] == parts[1]

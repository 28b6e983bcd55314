"""Applies a file to a cluster: checks it, shows what would change, asks, and changes it.

Owns the order of these steps and the sentences for what the server refuses.
"""

import json
import re
import sys
from dataclasses import dataclass
from typing import Any

import click

from afresh.cli.apply.difference import difference
from afresh.cli.manifest.checked_file import ManifestObject
from afresh.cli.manifest.source import STANDARD_INPUT, read_files
from afresh.cli.printable import plain_line
from afresh.cli.requests import ApplyFile, ChangeForm, CommandError, Place
from afresh.cli.session import asking
from afresh.kube.api_request import APPLY_PATCH, ApiRequest
from afresh.kube.api_session import ApiSession
from afresh.kube.errors import ConflictError, NotFoundError
from afresh.kube.resources import AGENT_CLASSES, WORK_PACKAGES, Manifest

MANAGER = "afresh"
SECONDS = 60
# A person may think about it for a while.
SECONDS_TO_AGREE = 3600
_RESOURCES = {"WorkPackage": WORK_PACKAGES, "AgentClass": AGENT_CLASSES}
_ORDER = list(reversed(_RESOURCES))
_MANAGER_NAME = re.compile(r'conflicts? with "([^"]+)"')
_FIELD = re.compile(r"(?:^- |: )(\.\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class PlannedApply:
    """What an apply would make of one object."""

    item: ManifestObject
    namespace: str | None
    is_new: bool
    lines: str
    """The difference; empty if nothing changes."""

    @property
    def sentence(self) -> str:
        """What would be done with the object, in which place."""
        place = f" in the namespace {self.namespace}" if self.namespace else ""
        what = "created" if self.is_new else "changed" if self.lines else "unchanged"
        return f"{self.item.kind} {self.item.name}{place}: {what}"


def apply_file(request: ApplyFile, place: Place, form: ChangeForm) -> str:
    """Apply the file and return what to tell. Raises CommandError and click's errors."""
    objects = _objects(request)
    if not (request.agreed or request.dry_run or sys.stdin.isatty()):
        raise click.UsageError("There is no terminal to ask on: add --yes, or --dry-run")
    with asking(place, SECONDS_TO_AGREE if _asks(request) else SECONDS) as (session, namespace):
        changes = [_planned(session, item, namespace) for item in objects]
        said = "".join(_shown(change) for change in changes)
        wanted = [change for change in changes if change.lines or change.is_new]
        if form is ChangeForm.TEXT:
            click.echo(said, nl=False)
        if wanted and not request.dry_run:
            if _asks(request):
                click.confirm("Apply this?", abort=True, err=True)
            for change in wanted:
                _applied(session, change.item, change.namespace, dry_run=False)
    if form is ChangeForm.JSON:
        return _as_json(changes, dry_run=request.dry_run)
    return _ending(request, wanted)


def _asks(request: ApplyFile) -> bool:
    return not (request.agreed or request.dry_run)


def _ending(request: ApplyFile, wanted: list[PlannedApply]) -> str:
    if not wanted:
        return "Nothing is to be changed.\n"
    if request.dry_run:
        return "Nothing was changed: this is a dry run.\n"
    return "The file was applied.\n"


def _objects(request: ApplyFile) -> list[ManifestObject]:
    """Return the objects of the file, classes first. Raises CommandError."""
    if request.path == STANDARD_INPUT and _asks(request):
        raise click.UsageError("The file comes from where the answer would: add --yes")
    (file,) = read_files((request.path,))
    if file.faults:
        for fault in file.faults:
            click.echo(fault.as_text(), err=True)
        raise CommandError(f"{file.name} has errors, and nothing was applied: fix them.")
    for item in file.objects:
        if not item.is_ours or item.kind not in _RESOURCES:
            raise CommandError(
                f"{file.name} has the {plain_line(item.kind)} {plain_line(item.name)}, and only"
                " WorkPackages and AgentClasses can be applied: use kubectl apply for it."
            )
    return sorted(file.objects, key=lambda item: _ORDER.index(item.kind))


def _planned(session: ApiSession, item: ManifestObject, current: str) -> PlannedApply:
    own = item.manifest["metadata"].get("namespace")
    namespace = None if item.kind == "AgentClass" else own or current
    try:
        before = session.get(_RESOURCES[item.kind], namespace, item.name)
    except NotFoundError as error:
        if f'"{item.name}" not found' not in str(error):
            raise CommandError("This cluster has no WorkPackages: install Afresh on it.") from error
        before = None
    after = _applied(session, item, namespace, dry_run=True)
    return PlannedApply(item, namespace, before is None, difference(before, after))


def _applied(
    session: ApiSession, item: ManifestObject, namespace: str | None, *, dry_run: bool
) -> Manifest:
    """Apply the object and return what the server makes of it. Raises CommandError, KubeError."""
    body = {key: value for key, value in item.manifest.items() if key != "status"}
    query = {"fieldManager": MANAGER, "fieldValidation": "Strict"}
    try:
        return session.ask(
            ApiRequest(
                method="PATCH",
                path=_RESOURCES[item.kind].path(namespace, item.name),
                query=query | ({"dryRun": "All"} if dry_run else {}),
                body=body,
                patch_type=APPLY_PATCH,
            )
        )
    except ConflictError as error:
        raise CommandError(_conflict(item, str(error))) from error
    except NotFoundError as error:
        raise CommandError(
            f"There is no namespace {namespace}: create it, or name another with -n."
        ) from error


def _conflict(item: ManifestObject, said: str) -> str:
    managers = ", ".join(dict.fromkeys(_MANAGER_NAME.findall(said))) or "somebody else"
    fields = ", ".join(dict.fromkeys(f"{field[1:]}" for field in _FIELD.findall(said)))
    return (
        f"{item.kind} {item.name}: {fields or 'a field'} was set by {managers}, and the file wants"
        " another value: take over theirs into the file, or overrule it with kubectl apply"
        " --server-side --force-conflicts."
    )


def _shown(change: PlannedApply) -> str:
    lines = f"{change.lines}\n" if change.lines else ""
    return f"{change.sentence}\n{lines}"


def _as_json(changes: list[PlannedApply], *, dry_run: bool) -> str:
    def values(change: PlannedApply) -> dict[str, Any]:
        return {
            "kind": change.item.kind,
            "name": change.item.name,
            "namespace": change.namespace,
            "change": change.sentence.rpartition(": ")[2],
            "difference": change.lines,
        }

    shown = {"dryRun": dry_run, "objects": [values(change) for change in changes]}
    return json.dumps(shown, indent=2) + "\n"

"""Prints objects as `kubectl get` does: rows that the API server makes, or the objects themselves.

Owns the forms of the output. The columns are those of the CustomResourceDefinitions.
"""

import json
import sys
from typing import Any

from afresh.cli.forms import as_columns, as_yaml
from afresh.cli.looks import GetForm, GetLook, Kind
from afresh.cli.printable import plain_line
from afresh.cli.requests import CommandError
from afresh.cli.session import asking
from afresh.kube.api_request import TABLE, ApiRequest
from afresh.kube.api_session import ApiSession
from afresh.kube.errors import NotFoundError
from afresh.kube.resources import AGENT_CLASSES, SUBTASKS, WORK_PACKAGES, Manifest

SECONDS = 45
RESOURCES = {
    Kind.WORK_PACKAGES: WORK_PACKAGES,
    Kind.SUBTASKS: SUBTASKS,
    Kind.AGENT_CLASSES: AGENT_CLASSES,
}


def show(look: GetLook) -> None:
    """Print the objects to standard output. Raises CommandError."""
    with asking(look.place, SECONDS) as (session, context_namespace):
        whole_cluster = look.everywhere or look.kind is Kind.AGENT_CLASSES
        namespace = None if whole_cluster else context_namespace
        try:
            text = _text(look, session, namespace)
        except NotFoundError as error:
            raise _missing(look, namespace, error) from error
    if text:
        print(text, end="")
    else:
        labels = f" with the labels {look.selector}" if look.selector else ""
        print(f"There is no {look.kind.singular}{labels} {_where(namespace)}.", file=sys.stderr)


def _text(look: GetLook, session: ApiSession, namespace: str | None) -> str:
    """Return the output; "" where there is no object to show in this form."""
    if look.form in (GetForm.TABLE, GetForm.WIDE):
        return _table(look, session, namespace)
    found = _objects(look, session, namespace)
    for item in found:
        item["metadata"].pop("managedFields", None)
    if look.form is GetForm.NAME:
        kind = look.kind.singular.lower()
        return "".join(f"{kind}.afresh.dev/{item['metadata']['name']}\n" for item in found)
    listed = {"apiVersion": "v1", "kind": "List", "items": found}
    value = found[0] if look.name else listed
    return json.dumps(value, indent=2) + "\n" if look.form is GetForm.JSON else as_yaml(value)


def _objects(look: GetLook, session: ApiSession, namespace: str | None) -> list[Manifest]:
    resource = RESOURCES[look.kind]
    if look.name:
        return [session.get(resource, namespace, look.name)]
    return session.list_items(resource, namespace, **look.selectors)


def _table(look: GetLook, session: ApiSession, namespace: str | None) -> str:
    path = RESOURCES[look.kind].path(namespace, look.name)
    pages = list(session.pages(ApiRequest(path=path, query=look.selectors, accept=TABLE)))
    columns = pages[0]["columnDefinitions"]
    shown = [
        number
        for number, column in enumerate(columns)
        if look.form is GetForm.WIDE or not column.get("priority")
    ]
    head = [columns[number]["name"].upper() for number in shown]
    rows = [
        ([row["object"]["metadata"]["namespace"]] if look.everywhere else [])
        + [_cell(row["cells"][number]) for number in shown]
        for page in pages
        for row in page["rows"]
    ]
    if not rows:
        return ""
    return as_columns([(["NAMESPACE"] if look.everywhere else []) + head, *rows])


def _cell(value: Any) -> str:
    return "" if value is None else plain_line(str(value))


def _missing(look: GetLook, namespace: str | None, error: NotFoundError) -> CommandError:
    if look.name and f'"{look.name}" not found' in str(error):
        option = f" -n {namespace}" if namespace else ""
        return CommandError(
            f"There is no {look.kind.singular} {look.name} {_where(namespace)};"
            f" see afresh get {look.kind}{option}."
        )
    return CommandError(f"This cluster serves no {look.kind}: install Afresh on it.")


def _where(namespace: str | None) -> str:
    return f"in the namespace {namespace}" if namespace else "in this cluster"

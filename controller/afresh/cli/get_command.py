"""The command `get`, as the command line shows it. No logic."""

from typing import Any

import click

from afresh.cli.looks import GetForm, GetLook, Kind
from afresh.cli.options import any_object_name, on_a_cluster, selected_by_labels, written_as
from afresh.cli.requests import Place

_KINDS = {
    **dict.fromkeys(("wp", "workpackage", "workpackages"), Kind.WORK_PACKAGES),
    **dict.fromkeys(("st", "subtask", "subtasks"), Kind.SUBTASKS),
    **dict.fromkeys(("ac", "class", "classes", "agentclass", "agentclasses"), Kind.AGENT_CLASSES),
}


class _KindName(click.ParamType[Kind]):
    """A kind by its plural, its singular or its short name."""

    name = "kind"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Kind:
        """Return the kind."""
        found = _KINDS.get(str(value).lower())
        if found is None:
            self.fail(f'"{value}" is not a kind: use workpackages, subtasks or classes', param, ctx)
        return found

    def shell_complete(
        self, _ctx: click.Context, _param: click.Parameter, incomplete: str
    ) -> list[click.shell_completion.CompletionItem]:
        """Return the kinds whose names begin so."""
        return [
            click.shell_completion.CompletionItem(name)
            for name in ("workpackages", "subtasks", "classes")
            if name.startswith(incomplete)
        ]


@click.command()
@click.argument("kind", type=_KindName(), default=Kind.WORK_PACKAGES)
@click.argument("name", required=False, callback=any_object_name)
@on_a_cluster
@click.option("-A", "--all-namespaces", is_flag=True, help="The objects of all namespaces.")
@selected_by_labels
@written_as(GetForm.TABLE)
def get(
    place: Place,
    kind: Kind,
    name: str | None,
    all_namespaces: bool,
    selector: str,
    form: GetForm,
) -> None:
    """Print objects of KIND in a table, as `kubectl get` does.

    KIND is workpackages (wp), subtasks (st) or classes (ac); without it, workpackages. With NAME
    only that object is printed. `afresh status -w` follows packages as they change.

    \b
    Example: afresh get
    \b
    Example: afresh get subtasks -n team-a -o wide
    \b
    Example: afresh get wp token-auth -o yaml
    """
    if name and (all_namespaces or selector):
        option = "-A" if all_namespaces else "-l"
        raise click.UsageError(f"NAME is one object: leave out {option}, or NAME")
    if all_namespaces and kind is Kind.AGENT_CLASSES:
        all_namespaces = False  # a class is in no namespace
    from afresh.cli.look import get as task  # noqa: PLC0415  # slow to import; --help needs none

    task.show(
        GetLook(
            place=place,
            kind=kind,
            name=name,
            everywhere=all_namespaces,
            selector=selector,
            form=form,
        )
    )

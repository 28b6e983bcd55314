"""The names of packages and subtasks, for a shell that completes them.

kubectl provides them: it starts many times faster than a Kubernetes client in Python. Where it
fails, nothing is completed and no error is shown.
"""

import subprocess
from typing import Any

import click
from click.shell_completion import CompletionItem

from afresh.cli.printable import plain_line

SECONDS = 3
MAX_HELP = 60
_PACKAGES = '{range .items[*]}{.metadata.name}{"\\t"}{.status.phase}{"\\n"}{end}'
_SUBTASKS = '{range .spec.subtasks[*]}{.id}{"\\t"}{.title}{"\\n"}{end}'
_PLACE = ("namespace", "kubeconfig", "context")


def complete_packages(
    context: click.Context, _parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Return the packages of the namespace whose names begin so, each with its phase."""
    return _items(_get(context.params, _PACKAGES), begun)


def complete_subtasks(
    context: click.Context, _parameter: click.Parameter, begun: str
) -> list[CompletionItem]:
    """Return the subtasks of the package whose ids begin so, each with its title."""
    package = context.params.get("package")
    if not package:
        return []
    given = context.params.get("subtasks") or ()
    found = _items(_get(context.params, _SUBTASKS, package), begun)
    return [item for item in found if item.value not in given]


def _get(parameters: dict[str, Any], template: str, *names: str) -> str:
    """Return what kubectl prints; nothing where it cannot."""
    place = [f"--{name}={parameters[name]}" for name in _PLACE if parameters.get(name)]
    how = ["-o", f"jsonpath={template}", f"--request-timeout={SECONDS}s"]
    command = ["kubectl", "get", "workpackages.afresh.dev", *names, *place, *how]
    try:
        done = subprocess.run(  # noqa: S603  # the user's own kubectl, without a shell
            command, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _items(table: str, begun: str) -> list[CompletionItem]:
    rows = (row.partition("\t") for row in table.splitlines())
    return [
        CompletionItem(name, help=plain_line(detail)[:MAX_HELP])
        for name, _, detail in rows
        if name and name.startswith(begun)
    ]

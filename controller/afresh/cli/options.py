"""What every command that is about a package takes. Knows no command."""

import functools
import re
from collections.abc import Callable
from typing import Any

import click

from afresh.cli.requests import Target

Command = Callable[..., None]

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def _name(_context: click.Context, parameter: click.Parameter, text: str | None) -> str | None:
    """Let through what can be a name: it becomes part of the request's path."""
    if text is not None and not _NAME.fullmatch(text):
        raise click.BadParameter(
            f'"{text}" is no {parameter.name}\'s name: it has lower-case letters, digits and "-".'
        )
    return text


_PARAMETERS = (
    click.argument("package", callback=_name),
    click.option(
        "-n", "--namespace", metavar="NAME", callback=_name, help="Default: the context's."
    ),
    click.option("--kubeconfig", metavar="FILE", help="Default: $KUBECONFIG, or ~/.kube/config."),
    click.option("--context", metavar="NAME", help="Default: the current context."),
)


def about_a_package(command: Command) -> Command:
    """Give `command` the argument PACKAGE and the options for the cluster, as one Target.

    Stands above what else the command takes, so that PACKAGE comes first.
    """

    @functools.wraps(command)
    def with_target(
        *,
        package: str,
        namespace: str | None,
        kubeconfig: str | None,
        context: str | None,
        **rest: Any,
    ) -> None:
        target = Target(
            package=package, namespace=namespace, kubeconfig=kubeconfig, context=context
        )
        command(target, **rest)

    decorated: Command = with_target
    for parameter in reversed(_PARAMETERS):
        decorated = parameter(decorated)
    return decorated

"""What every command that is about a package takes. Knows no command."""

import functools
import re
from collections.abc import Callable, Sequence
from enum import StrEnum
from typing import Any

import click

from afresh.cli.names import complete_packages
from afresh.cli.requests import Place, Target

Command = Callable[..., object]

_NAME = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_LONG_NAME = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


class AsWritten(click.Choice[str]):
    """A choice that takes any case and is shown, and completed, as the API writes it."""

    def __init__(self, choices: Sequence[str]) -> None:
        super().__init__(choices, case_sensitive=False)

    def normalize_choice(self, choice: object, ctx: click.Context | None) -> str:
        """Return the choice that is meant, as it is written; else what was given."""
        said = super().normalize_choice(choice, ctx)
        return next((item for item in self.choices if item.casefold() == said), said)


def object_name(
    _context: click.Context, parameter: click.Parameter, text: str | None
) -> str | None:
    """Let through what can be the name of a package or a namespace: it becomes part of a path."""
    if text is not None and not _NAME.fullmatch(text):
        kind = "namespace" if parameter.name == "namespace" else "package"
        raise click.BadParameter(
            f'"{text}" is not the name of a {kind}: use lower-case letters, digits and "-".'
        )
    return text


def any_object_name(
    _context: click.Context, _parameter: click.Parameter, text: str | None
) -> str | None:
    """Let through what can be the name of an object of any kind, such as an AgentClass."""
    if text is not None and not _LONG_NAME.fullmatch(text):
        raise click.BadParameter(
            f'"{text}" is not the name of an object: use lower-case letters, digits, "-" and ".".'
        )
    return text


_PACKAGE = click.argument("package", callback=object_name, shell_complete=complete_packages)
_OPTIONAL_PACKAGE = click.argument(
    "package", callback=object_name, required=False, shell_complete=complete_packages
)
_PLACE = (
    click.option(
        "-n",
        "--namespace",
        metavar="NAME",
        callback=object_name,
        help="Default: that of the context.",
    ),
    click.option(
        "--kubeconfig",
        metavar="FILE",
        help="Default: $KUBECONFIG or ~/.kube/config; without one in a pod, the pod's account.",
    ),
    click.option("--context", metavar="NAME", help="Default: the current context."),
)


def about_a_package(command: Command) -> Command:
    """Give `command` the argument PACKAGE and the options for the cluster, as one Target.

    Use it above the command's other options, so that PACKAGE comes first.
    """

    @functools.wraps(command)
    def with_target(
        *,
        package: str,
        namespace: str | None,
        kubeconfig: str | None,
        context: str | None,
        **rest: Any,
    ) -> object:
        target = Target(
            package=package, namespace=namespace, kubeconfig=kubeconfig, context=context
        )
        return command(target, **rest)

    return with_parameters(with_target, (_PACKAGE, *_PLACE))


def on_a_cluster(command: Command) -> Command:
    """Give `command` the options for the cluster, as one Place."""

    @functools.wraps(command)
    def with_place(
        *, namespace: str | None, kubeconfig: str | None, context: str | None, **rest: Any
    ) -> object:
        place = Place(namespace=namespace, kubeconfig=kubeconfig, context=context)
        return command(place, **rest)

    return with_parameters(with_place, _PLACE)


def written_as(default: StrEnum) -> Callable[[Command], Command]:
    """Give a command the option `-o`, as `form`: any form of which `default` is one."""
    return click.option(
        "-o",
        "--output",
        "form",
        type=click.Choice(list(type(default)), case_sensitive=False),
        default=default.value,
        show_default=True,
        help="The form of the output.",
    )


def selected_by_labels(command: Command) -> Command:
    """Give `command` the option `-l`, as `selector`: "" where it is left out."""
    return click.option(
        "-l",
        "--selector",
        metavar="LABELS",
        default="",
        help="Only those with these labels, such as team=payments,tier!=test.",
    )(command)


def optional_package(command: Command) -> Command:
    """Give `command` the argument [PACKAGE], and the options for the cluster as one Place."""
    return with_parameters(on_a_cluster(command), (_OPTIONAL_PACKAGE,))


def with_parameters(
    command: Command, parameters: Sequence[Callable[[Command], Command]]
) -> Command:
    """Give `command` arguments and options, shown in this order."""
    for parameter in reversed(parameters):
        command = parameter(command)
    return command

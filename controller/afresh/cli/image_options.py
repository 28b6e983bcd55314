"""What a command takes that is about an agent's image. Knows no command."""

import functools
import re
from typing import Any

import click

from afresh.cli.options import Command, with_parameters
from afresh.cli.requests import Trial
from afresh.contract.abilities import ABILITIES
from afresh.contract.words import AdapterName, ModelApiName

_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,511}")
_SECRET = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


def _reference(_context: click.Context, _parameter: click.Parameter, text: str) -> str:
    if not _IMAGE.fullmatch(text):
        raise click.BadParameter(
            f'"{text}" is not an image reference: write one such as'
            " registry.example.com/team/agent:1.0."
        )
    return text


def _secrets(
    _context: click.Context, _parameter: click.Parameter, names: tuple[str, ...]
) -> tuple[str, ...]:
    for name in names:
        if not _SECRET.fullmatch(name):
            raise click.BadParameter(
                f'"{name}" is not the name of a Secret: use lower-case letters, digits,'
                ' "-" and ".".'
            )
    return names


_PARAMETERS = (
    click.argument("image", callback=_reference),
    click.argument("words", metavar="[-- COMMAND...]", nargs=-1),
    click.option(
        "--adapter",
        type=click.Choice([str(name) for name in ABILITIES], case_sensitive=False),
        default=str(AdapterName.CLAUDE),
        show_default=True,
        help="Which program the image holds.",
    ),
    click.option(
        "--model-api",
        type=click.Choice([str(name) for name in ModelApiName], case_sensitive=False),
        help="As in the AgentClass, for programs that speak several.",
    ),
    click.option(
        "--runner-image",
        metavar="IMAGE",
        help="Default: the one that the operator of the cluster uses.",
    ),
    click.option(
        "--pull-secret",
        "pull_secrets",
        metavar="NAME",
        multiple=True,
        callback=_secrets,
        help="A Secret of the namespace for pulling the images; may be repeated.",
    ),
)


def about_an_image(command: Command) -> Command:
    """Give `command` the argument IMAGE and what is known of it, as one Trial."""

    @functools.wraps(command)
    def with_trial(
        *args: Any,
        image: str,
        words: tuple[str, ...],
        adapter: str,
        model_api: str | None,
        runner_image: str | None,
        pull_secrets: tuple[str, ...],
        **rest: Any,
    ) -> object:
        name = AdapterName(adapter)
        if bool(words) != (name is AdapterName.COMMAND):
            raise click.UsageError("COMMAND is for --adapter Command, which needs it.")
        trial = Trial(
            image=image,
            adapter=name,
            model_api=ModelApiName(model_api) if model_api else None,
            command=words,
            runner_image=runner_image,
            pull_secrets=pull_secrets,
        )
        return command(*args, trial, **rest)

    return with_parameters(with_trial, _PARAMETERS)

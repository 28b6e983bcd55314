"""The command `run`, as the command line shows it. No logic."""

import click

from afresh.cli.looks import Output
from afresh.cli.options import AsWritten, object_name, written_as
from afresh.cli.requests import LocalRun
from afresh.contract.words import ContextMode


@click.command()
@click.argument("package", callback=object_name, required=False)
@click.option(
    "-f",
    "--file",
    metavar="FILE",
    help="The WorkPackage, and its AgentClass if it brings one; - is standard input."
    "  [default: package.yaml, or .afresh/package.yaml]",
)
@click.option(
    "--agent",
    metavar="NAME",
    callback=object_name,
    help="The AgentClass, or claude, codex, gemini, opencode, aider or qwen of this machine.",
)
@click.option(
    "--context-mode",
    "mode",
    type=AsWritten([str(mode) for mode in ContextMode]),
    help="The context mode of this run.",
)
@click.option(
    "--parallelism",
    type=click.IntRange(1, 50),
    metavar="NUMBER",
    help="How many episodes of this run may work at a time.",
)
@written_as(Output.TEXT)
def run(
    package: str | None,
    file: str | None,
    agent: str | None,
    mode: str | None,
    parallelism: int | None,
    form: Output,
) -> int:
    """Run a package in this clone, without a cluster.

    The agent works in a folder of its own, and verified work is put on the package's branch; what
    is checked out stays as it is. With PACKAGE and without -f, a package that was run here before
    goes on. Ctrl-C lets what runs end, and a second one ends it now; the next run goes on from
    there. The key of the model is read from the environment, such as ANTHROPIC_API_KEY. With -o
    json, each change is an object.

    The exit code is 0 if the package has succeeded, 3 if it needs a review, 4 if it has failed, 5
    if it is stalled, 8 if it is suspended, and 130 if the run was interrupted.

    \b
    Example: afresh run
    \b
    Example: afresh run -f package.yaml --agent claude --context-mode Persistent
    """
    if package and file:
        raise click.UsageError("PACKAGE was run before, and -f brings one: leave out one of them")
    from afresh.cli.local_run import run_package  # noqa: PLC0415  # slow to import

    return run_package(
        LocalRun(
            package=package,
            file=file,
            agent=agent,
            mode=ContextMode(mode) if mode else None,
            parallelism=parallelism,
        ),
        form,
    )

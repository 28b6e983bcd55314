"""The commands that look and change nothing, as the command line shows them. No logic."""

import re
from typing import Any

import click
from click.shell_completion import get_completion_class

from afresh.cli.looks import (
    Awaited,
    LogLook,
    ManifestForm,
    Output,
    StatusForm,
    StatusLook,
    WaitLook,
)
from afresh.cli.names import complete_subtasks
from afresh.cli.options import (
    AsWritten,
    about_a_package,
    optional_package,
    selected_by_labels,
    written_as,
)
from afresh.cli.requests import Place, Target

_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s?)?")
_UNITS = (3600, 60, 1)
_SHELLS = ("bash", "zsh", "fish")
# No package gets that phase yet.
_AWAITABLE = [item.value for item in Awaited if item is not Awaited.AWAITING_APPROVAL]


def _seconds(_context: click.Context, _parameter: click.Parameter, text: str | None) -> Any:
    if text is None:
        return None
    found = _DURATION.fullmatch(text)
    if not found or not any(found.groups()):
        raise click.BadParameter(f'"{text}" is not a duration: write 90s, 30m or 1h30m.')
    return sum(float(part or 0) * unit for part, unit in zip(found.groups(), _UNITS, strict=True))


@click.command()
@optional_package
@click.option("-A", "--all-namespaces", is_flag=True, help="The packages of all namespaces.")
@selected_by_labels
@click.option("-w", "--watch", is_flag=True, help="Continue until PACKAGE ends.")
@written_as(StatusForm.TEXT)
def status(
    place: Place,
    package: str | None,
    all_namespaces: bool,
    selector: str,
    watch: bool,
    form: StatusForm,
) -> None:
    """Show the state of PACKAGE, or of all packages in one table.

    PACKAGE is shown with all of its subtasks. With -w, a terminal shows the state in place as it
    changes; any other output gets a line for each change, or with -o json an object. -o wide leaves
    out no column and shortens no line.

    \b
    Example: afresh status token-auth -w
    \b
    Example: afresh status -A -l team=payments
    """
    if package and (all_namespaces or selector):
        option = "-A" if all_namespaces else "-l"
        raise click.UsageError(f"PACKAGE names one package: leave out {option}, or PACKAGE")
    if watch and form in (StatusForm.YAML, StatusForm.NAME):
        raise click.UsageError(f"-w cannot write {form}: leave out -w, or use -o json")
    from afresh.cli.look import status as task  # noqa: PLC0415  # slow to import; --help needs none

    task.show(
        StatusLook(
            place=place,
            package=package,
            everywhere=all_namespaces,
            selector=selector,
            watch=watch,
            form=form,
        )
    )


@click.command()
@about_a_package
@click.argument("subtask", required=False, shell_complete=complete_subtasks)
@click.option("-f", "--follow", is_flag=True, help="Continue until the package ends.")
@click.option(
    "--attempt", type=click.IntRange(min=1), metavar="N", help="Its number. Default: the last."
)
@written_as(Output.TEXT)
def logs(
    target: Target, subtask: str | None, follow: bool, attempt: int | None, form: Output
) -> None:
    """Show the log of an episode, or follow them all with -f.

    Without SUBTASK, this is the episode that runs now, or otherwise the last one. The log comes
    from the pod. After the pod is deleted, only the last lines are left, in the status. Standard
    error says where the lines come from. With -f the logs of later episodes follow, until PACKAGE
    or SUBTASK ends.

    \b
    Example: afresh logs -f token-auth
    """
    if attempt is not None and subtask is None:
        raise click.UsageError("--attempt needs a SUBTASK: each counts its own")
    from afresh.cli.look import logs as task  # noqa: PLC0415  # as above

    task.show(LogLook(target=target, subtask=subtask, attempt=attempt, follow=follow, output=form))


@click.command()
@about_a_package
@written_as(Output.TEXT)
def explain(target: Target, form: Output) -> None:
    """Explain why PACKAGE is in its state, and what to do.

    It reads what the operator reads, with your rights, and applies the same rules, so it also shows
    what the operator would do next. It changes nothing, and names what you may not read.

    \b
    Example: afresh explain token-auth
    """
    from afresh.cli.look import explain as task  # noqa: PLC0415  # as above

    task.show(target, form)


@click.command()
@about_a_package
@click.option(
    "--for",
    "awaited",
    type=AsWritten(_AWAITABLE),
    default=Awaited.SUCCEEDED.value,
    show_default=True,
    metavar="PHASE",
    help="Any phase of a package, or Deleted.",
)
@click.option(
    "--timeout",
    "seconds",
    metavar="DURATION",
    callback=_seconds,
    help="Such as 90s, 30m or 1h30m. Default: none.",
)
@written_as(Output.TEXT)
def wait(target: Target, awaited: str, seconds: float | None, form: Output) -> int:
    """Wait until PACKAGE has succeeded, or reaches another phase.

    The exit code says how the package ended:

    \b
      0    it is in the phase that was waited for
      1    the package does not exist, or the cluster did not answer
      2    the command was used wrongly
      3    NeedsReview: a person must answer
      4    Failed: the budget or the episodes are used up
      5    Stalled for 5 seconds: something must be corrected
      6    it was deleted
      7    Succeeded, but --for names another phase
      8    Suspended for 5 seconds: nothing starts until it is resumed
      124  the time of --timeout has passed

    A phase counts only after the operator has handled the last edit.

    \b
    Example: afresh wait token-auth --timeout 2h
    """
    from afresh.cli.look import wait as task  # noqa: PLC0415  # as above

    return task.wait(
        WaitLook(target=target, awaited=Awaited(awaited), seconds=seconds, output=form)
    )


@click.command()
@written_as(ManifestForm.YAML)
def crds(form: ManifestForm) -> None:
    """Print the CustomResourceDefinitions of this version.

    They are YAML documents, or with -o json one List.

    \b
    Example: afresh crds | kubectl apply --server-side -f -
    """
    from afresh.cli.crds import write  # noqa: PLC0415  # as above

    click.echo(write(form), nl=False)


@click.command()
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the completion script for SHELL.

    It completes commands, options, packages and subtasks. It reads the names of packages and
    subtasks with kubectl, which must be on the PATH.

    \b
    Example: source <(afresh completion bash)
    \b
    Example: afresh completion zsh > "${fpath[1]}/_afresh"
    \b
    Example: afresh completion fish > ~/.config/fish/completions/afresh.fish
    """
    kind = get_completion_class(shell)
    if kind:
        program = context.find_root().command
        click.echo(kind(program, {}, "afresh", "_AFRESH_COMPLETE").source())


LOOKS: tuple[click.Command, ...] = (status, logs, explain, wait, crds, completion)
"""All of them, for the program to take in."""

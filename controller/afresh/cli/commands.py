"""The commands, as the command line shows them. No logic: arguments become requests."""

import click

from afresh import __version__
from afresh.api.phases import RevisionReason
from afresh.cli.check_command import check, version
from afresh.cli.file_commands import FILE_COMMANDS
from afresh.cli.get_command import get
from afresh.cli.image_options import about_an_image
from afresh.cli.local_run_command import run
from afresh.cli.look_commands import LOOKS
from afresh.cli.names import complete_packages, complete_subtasks
from afresh.cli.options import AsWritten, about_a_package, object_name, on_a_cluster, written_as
from afresh.cli.requests import (
    Cancel,
    ChangeForm,
    ComparisonForm,
    Copy,
    Form,
    Guide,
    Place,
    Request,
    Retry,
    Skip,
    Suspend,
    TableForm,
    Target,
    Trial,
)
from afresh.contract.history_words import history_wording
from afresh.contract.text import one_line
from afresh.contract.words import ContextMode

MAX_DIRECTIVE = 500


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="afresh %(version)s")
def afresh() -> None:
    """Show the state of WorkPackages, and answer those that wait for a person.

    \b
    Example: afresh status token-auth -n team-a
    """


for _command in (*LOOKS, *FILE_COMMANDS, get, check, version, run):
    afresh.add_command(_command)


class BadDirectiveError(click.ClickException):
    """A directive that no agent may be given."""

    exit_code = 2


def _directive(_context: click.Context, _parameter: click.Parameter, text: str) -> str:
    directive = one_line(text)
    if not directive:
        raise BadDirectiveError("The directive is empty: say what to do.")
    if len(directive) > MAX_DIRECTIVE:
        raise BadDirectiveError(
            f"The directive has {len(directive)} characters, and {MAX_DIRECTIVE} are allowed:"
            " shorten it, or write it into the subtask's prompt."
        )
    found = history_wording(directive)
    if found:
        click.echo(
            f'Warning: "{found}" refers to the past, which the next agent does not know; the '
            'present tense is clearer, such as "Use JWT."',
            err=True,
        )
    return directive


@afresh.command()
@about_a_package
@click.argument("subtask", shell_complete=complete_subtasks)
@click.argument("directive", callback=_directive)
@written_as(ChangeForm.TEXT)
def guide(target: Target, subtask: str, directive: str, form: ChangeForm) -> None:
    """Give SUBTASK of PACKAGE one more directive, and run it again.

    Write the directive in the present tense: it says what to do. The command adds it to the
    subtask's guidance and raises the subtask's revision by one. If you keep the manifest in git,
    copy the lines that the command prints.

    \b
    Example: afresh guide token-auth T004 "Use JWT, signed with the key."
    """
    _change(Guide(subtask=subtask, directive=directive), target, form)


@afresh.command()
@about_a_package
@click.argument(
    "subtasks", metavar="SUBTASK...", nargs=-1, required=True, shell_complete=complete_subtasks
)
@written_as(ChangeForm.TEXT)
def skip(target: Target, subtasks: tuple[str, ...], form: ChangeForm) -> None:
    """Leave each SUBTASK out; subtasks that depend on it continue.

    \b
    Example: afresh skip token-auth T004 T005
    """
    _change(Skip(subtasks=subtasks), target, form)


@afresh.command()
@about_a_package
@click.argument("subtasks", metavar="[SUBTASK]...", nargs=-1, shell_complete=complete_subtasks)
@click.option(
    "--because",
    type=click.Choice(list(RevisionReason), case_sensitive=False),
    help="A review rejected the work, or it refers to something that does not exist.",
)
@written_as(ChangeForm.TEXT)
def retry(
    target: Target, subtasks: tuple[str, ...], because: RevisionReason | None, form: ChangeForm
) -> None:
    """Run each SUBTASK of PACKAGE again.

    The command raises the revision of each by one and sets its skip to false. Without SUBTASK, all
    subtasks that wait for a person run again, and a stalled package tries to continue. The reason
    of --because is kept in the subtask's record, and `afresh compare` counts it; agents do not see
    it. To let a stalled package try to continue with kubectl:

    \b
      kubectl annotate --overwrite wp token-auth -n team-a \\
        afresh.dev/retry-requested-at="$(date -u +%FT%T.%6NZ)"

    \b
    Example: afresh retry token-auth T004 --because rejected
    """
    _change(Retry(subtasks=subtasks, because=because), target, form)


@afresh.command()
@about_a_package
@written_as(ChangeForm.TEXT)
def suspend(target: Target, form: ChangeForm) -> None:
    """Start no new episode of PACKAGE; let running ones end.

    \b
    Example: afresh suspend token-auth
    """
    _change(Suspend(suspend=True), target, form)


@afresh.command()
@about_a_package
@written_as(ChangeForm.TEXT)
def resume(target: Target, form: ChangeForm) -> None:
    """Let PACKAGE continue after it was suspended.

    \b
    Example: afresh resume token-auth
    """
    _change(Suspend(suspend=False), target, form)


@afresh.command()
@about_a_package
@written_as(ChangeForm.TEXT)
def cancel(target: Target, form: ChangeForm) -> None:
    """Stop the agents of PACKAGE that run now.

    This does not count as a failure. The package continues with a fresh agent, unless it is
    suspended. After the operator has handled the request, .status.lastHandledCancel has the
    request's value. The same with kubectl:

    \b
      kubectl annotate --overwrite wp token-auth -n team-a \\
        afresh.dev/cancel-requested-at="$(date -u +%FT%T.%6NZ)"

    \b
    Example: afresh cancel token-auth
    """
    _change(Cancel(), target, form)


@afresh.command()
@about_a_package
@written_as(Form.MARKDOWN)
def report(target: Target, form: Form) -> None:
    """Report the state of PACKAGE and what waits for a person.

    It also shows time, tokens and cost, and the agents' notes on the branch, which it reads with
    your own git and its credentials. The HTML page is one file that needs no network and no script.
    It has a timeline of the episodes, tokens and cost by subtask, and how each attempt ended.

    \b
    Example: afresh report token-auth -n team-a

    \b
    Example: afresh report token-auth -o html > token-auth.html
    """
    from afresh.cli import perform  # noqa: PLC0415  # slow to import; --help needs none of it

    click.echo(perform.report(form, target), nl=False)


@afresh.command()
@about_a_package
@click.argument("other", callback=object_name, shell_complete=complete_packages)
@written_as(ComparisonForm.TABLE)
def compare(target: Target, other: str, form: ComparisonForm) -> None:
    """Compare PACKAGE with OTHER: results, time, tokens and cost.

    Use it for one package that was done in two context modes. It lists other differences between
    the two specs. Review rejections and hallucination reports come from `afresh retry --because`.

    \b
    Example: afresh compare token-auth token-auth-persistent
    """
    from afresh.cli import perform  # noqa: PLC0415  # as above

    click.echo(perform.compare(form, target, other), nl=False)


@afresh.command()
@about_a_package
@click.argument("name", callback=object_name)
@click.option(
    "--mode",
    type=AsWritten([str(mode) for mode in ContextMode]),
    help="The copy's context mode.  [default: PACKAGE's]",
)
@written_as(ChangeForm.TEXT)
def copy(target: Target, name: str, mode: str | None, form: ChangeForm) -> None:
    """Make a second package NAME that asks for the same work.

    The copy has a branch of its own, from the same baseRef. Raised revisions are not copied. When
    both have ended, compare them with `afresh compare`.

    \b
    Example: afresh copy token-auth token-auth-persistent --mode Persistent
    """
    from afresh.cli import perform  # noqa: PLC0415  # as above

    request = Copy(name=name, mode=ContextMode(mode) if mode else None)
    click.echo(perform.copy(request, form, target), nl=False)


@afresh.command()
@on_a_cluster
@about_an_image
@written_as(TableForm.TABLE)
def conformance(place: Place, trial: Trial, form: TableForm) -> int:
    """Test whether agents can work in IMAGE.

    docs/how-to/agent-images.md has the requirements. The command runs a pod with the same agent
    container as in an episode, for up to 8 minutes, and deletes it. It needs no key and no
    repository. The exit code is 1 if a MUST is not met.

    \b
    Example: afresh conformance registry.example.com/team-a/claude:7

    \b
    Example: afresh conformance my-image --adapter Command -- house-agent --batch
    """
    from afresh.cli.conformance import rendered, try_image  # noqa: PLC0415  # slow to import

    findings = try_image(trial, place, lambda line: click.echo(line, err=True))
    click.echo(rendered(findings, form), nl=False)
    return 0 if findings.conforms else 1


def _change(request: Request, target: Target, form: ChangeForm) -> None:
    from afresh.cli import perform  # noqa: PLC0415  # as above

    click.echo(perform.change(request, form, target), nl=False)

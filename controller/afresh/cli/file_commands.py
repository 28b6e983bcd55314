"""The commands about files: their schema, what is wrong with them, the first one, and applying one.

No logic: arguments become requests.
"""

import shlex

import click

from afresh.cli.options import AsWritten, on_a_cluster, written_as
from afresh.cli.requests import ApplyFile, ChangeForm, NewFile, Place, SchemaForm

_KINDS = ("WorkPackage", "AgentClass", "Subtask")
# What only a shell understands.
_SHELL_SIGNS = frozenset("|&;<>$`*?~\n")
PACKAGE_FILE = "package.yaml"


@click.command()
@click.argument("kind", metavar="[KIND]", type=AsWritten(_KINDS), default="WorkPackage")
@written_as(SchemaForm.JSON)
def schema(kind: str, form: SchemaForm) -> None:
    """Print the JSON Schema of KIND, for editors.

    KIND is WorkPackage, AgentClass or Subtask; without it, WorkPackage. With a schema, an editor
    completes the fields of a file and marks errors. An editor that uses yaml-language-server finds
    it by a line at the top of the file:

    \b
      # yaml-language-server: $schema=workpackage.schema.json

    \b
    Example: afresh schema > workpackage.schema.json
    \b
    Example: afresh schema agentclass -o yaml
    """
    from afresh.cli.schema_text import write_schema  # noqa: PLC0415  # slow to import

    click.echo(write_schema(kind, form), nl=False)


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@written_as(ChangeForm.TEXT)
def validate(files: tuple[str, ...], form: ChangeForm) -> int:
    """Check each FILE and print every error with its line.

    No cluster is needed. "-" is the standard input. What the API server refuses is an error, and
    what the operator refuses about the subtasks: ids and dependencies that contradict each other.
    Whether the class, the Secrets and the branch exist is not checked. The exit code is 1 if there
    is an error.

    \b
    Example: afresh validate package.yaml
    \b
    Example: afresh validate -o json - < package.yaml
    """
    from afresh.cli.validation import validated  # noqa: PLC0415  # slow to import

    said, valid = validated(files, form)
    click.echo(said, nl=False)
    return 0 if valid else 1


def _words(
    _context: click.Context, _parameter: click.Parameter, text: str | None
) -> tuple[str, ...] | None:
    """Return a command as typed, word by word; one that needs a shell gets one."""
    if text is None:
        return None
    if _SHELL_SIGNS & set(text):
        return ("sh", "-c", text)
    try:
        words = tuple(shlex.split(text))
    except ValueError:
        raise click.BadParameter("a quotation mark is not closed.") from None
    if not words or not words[0]:
        raise click.BadParameter("the command is empty.")
    # A setting such as CI=1 before a program is the shell's too.
    return ("sh", "-c", text) if " " in words[0] or "=" in words[0] else words


@click.command()
@click.option("--force", is_flag=True, help="Replace the file if there is one.")
@click.option(
    "--verify",
    metavar="COMMAND",
    callback=_words,
    help="The acceptance command.  [default: one that the repository seems to have]",
)
@click.option("--yes/--no-try", "tries", default=None, help="Run the commands found, or none.")
@click.option(
    "--try-seconds",
    "seconds",
    type=click.FloatRange(1, 86_400),
    default=120,
    show_default=True,
    metavar="SECONDS",
    help="How long each command may run.",
)
@click.option(
    "-f", "--file", "path", metavar="FILE", default=PACKAGE_FILE, show_default=True,
    help="The file to write.",
)  # fmt: skip
@written_as(ChangeForm.TEXT)
def init(
    force: bool,
    verify: tuple[str, ...] | None,
    tries: bool | None,
    seconds: float,
    path: str,
    form: ChangeForm,
) -> None:
    """Write a first package for the repository you are in.

    The file has the repository's URL and base branch, an agent that is installed here, an
    acceptance command and one subtask as an example, each with a comment. Commands that the
    repository seems to have, such as `make test`, are tried in a copy of HEAD, which is removed;
    your folder is not touched. On a terminal you are asked first; elsewhere nothing is run without
    --yes. The schema for editors is written beside the file.

    \b
    Example: afresh init
    \b
    Example: afresh init --verify "make test" --no-try
    """
    from afresh.cli.init.task import write_first_package  # noqa: PLC0415  # slow to import

    request = NewFile(path=path, force=force, verify=verify, tries=tries, seconds=seconds)
    click.echo(write_first_package(request, form), nl=False)


@click.command()
@click.option("-f", "--file", "path", metavar="FILE", required=True, help='"-": standard input.')
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@on_a_cluster
@written_as(ChangeForm.TEXT)
def apply(place: Place, path: str, yes: bool, dry_run: bool, form: ChangeForm) -> None:
    """Bring the WorkPackages and AgentClasses of FILE to a cluster.

    What would change is shown first, and you are asked; without a terminal, --yes is needed. The
    file is checked as by `afresh validate`. Fields that others have set since, such as the
    guidance of `afresh guide`, are kept; where the file wants another value, nothing is changed.
    It is a server-side apply by the field manager "afresh".

    \b
    Example: afresh apply -f package.yaml -n team-a
    \b
    Example: afresh apply -f package.yaml --dry-run
    """
    from afresh.cli.apply.task import apply_file  # noqa: PLC0415  # slow to import

    click.echo(apply_file(ApplyFile(path=path, agreed=yes, dry_run=dry_run), place, form), nl=False)


FILE_COMMANDS: tuple[click.Command, ...] = (schema, validate, init, apply)
"""All of them, for the program to take in."""

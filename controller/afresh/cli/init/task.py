"""Writes a first package: looks at the repository, tries its commands, and writes the file.

Owns what is asked and told on the way, and that no file is overwritten.
"""

import json
import os
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click
from pydantic import ValidationError

from afresh.api.crd import KINDS
from afresh.api.json_schema import render_schema
from afresh.api.repository import RepositorySpec
from afresh.api.subtask import VerifySpec
from afresh.api.work_package import WorkPackage
from afresh.cli.init.candidates import VerifyCandidate, find_candidates
from afresh.cli.init.repository import RepositoryFacts, read_repository
from afresh.cli.init.template import SCHEMA_FILE, FirstPackage, render_package
from afresh.cli.init.trial_run import TriedCommand, try_candidate
from afresh.cli.manifest.checked_file import check_file
from afresh.cli.printable import plain_line, plain_lines
from afresh.cli.requests import ChangeForm, CommandError, NewFile
from afresh.local.classes import ADAPTERS

MOST_TRIALS = 4
DEFAULT_AGENT = "claude"
NO_COMMAND = ("true",)


@dataclass(frozen=True, slots=True)
class _Choice:
    """The acceptance command to write, and a sentence about it."""

    candidate: VerifyCandidate
    comment: str
    tried: tuple[TriedCommand, ...] = ()


def write_first_package(request: NewFile, form: ChangeForm) -> str:
    """Write the files and return what to tell. Raises CommandError and click's errors."""
    target = Path(request.path)
    schema = target.parent / SCHEMA_FILE
    if not request.force and (target.exists() or target.is_symlink()):
        raise CommandError(f"There is a {target} already: use --force to replace it, or -f FILE.")
    facts = read_repository(Path.cwd())
    choice = _chosen(facts, request)
    package = _first_package(facts, choice)
    text = render_package(package)
    faults = check_file(str(target), text.encode()).faults
    if faults:
        raise CommandError(f"No valid package comes of this repository: {faults[0].as_text()}.")
    try:
        _write(target, text, force=request.force)
        if request.force or not schema.exists():
            _write(schema, _schema_text(), force=request.force)
    except FileExistsError:
        raise CommandError(f"There is a {target} already: use --force to replace it.") from None
    if form is ChangeForm.JSON:
        return _as_json(target, schema, package, choice)
    return (
        f"{target} is written, with the acceptance command `{' '.join(package.verify)}`:"
        f" {choice.comment}\nChange its subtasks to your own work, and check it with"
        f" `afresh validate {target}`.\n"
    )


def _first_package(facts: RepositoryFacts, choice: _Choice) -> FirstPackage:
    agents = tuple(name for name in ADAPTERS if shutil.which(name))
    readmes = [path for path in facts.files if path.lower() in ("readme.md", "readme.rst")]
    return FirstPackage(
        folder=facts.root.name,
        languages=facts.languages,
        url=facts.origin if facts.origin and _is_address(facts.origin) else None,
        base=facts.base,
        agent=agents[0] if agents else DEFAULT_AGENT,
        agents=agents,
        verify=choice.candidate.command,
        verify_comment=choice.comment,
        setup=choice.candidate.setup,
        readme=readmes[0] if readmes else "README.md",
    )


def _is_address(url: str) -> bool:
    try:
        RepositorySpec.model_validate({"url": url})
    except ValidationError:
        return False
    return True


def _chosen(facts: RepositoryFacts, request: NewFile) -> _Choice:
    """Return the first candidate that passes; else the first one, with why it does not."""
    if request.verify:
        candidates = [VerifyCandidate(command=request.verify, source="--verify")]
    else:
        found = find_candidates(frozenset(facts.files), facts.read)
        candidates = [item for item in found if _is_command(item.command)][:MOST_TRIALS]
    if not candidates:
        comment = (
            "No acceptance command was found in the repository, and this one accepts all work:"
            " replace it."
        )
        return _Choice(VerifyCandidate(command=NO_COMMAND, source=""), comment)
    tried: list[TriedCommand] = []
    for candidate in candidates:
        if not _may_run(candidate, request):
            continue
        _tell(f"Trying {_shown(candidate)} in a copy of HEAD ...")
        tried.append(try_candidate(facts, candidate, request.seconds))
        _tell(f"  {tried[-1].fact}.")
        if tried[-1].passed:
            return _Choice(candidate, "It passes on HEAD.", tuple(tried))
        if tried[-1].tail:
            _tell(_indented(tried[-1].tail))
    return _not_passed(candidates, tried)


def _not_passed(candidates: Sequence[VerifyCandidate], tried: Sequence[TriedCommand]) -> _Choice:
    if tried:
        fact = plain_line(tried[0].fact)
        comment = f"{fact[0].upper()}{fact[1:]}: fix that first, or name another command."
        return _Choice(tried[0].candidate, comment, tuple(tried))
    source = plain_line(candidates[0].source)
    return _Choice(candidates[0], f"It comes from {source} and was not tried.")


def _is_command(words: tuple[str, ...]) -> bool:
    try:
        VerifySpec.model_validate({"command": list(words)})
    except ValidationError:
        return False
    return True


def _may_run(candidate: VerifyCandidate, request: NewFile) -> bool:
    if request.tries is not None:
        return request.tries
    if not sys.stdin.isatty():
        return False
    question = f"Run {_shown(candidate)} in a copy of HEAD that is removed again?"
    return click.confirm(question, default=True, err=True)


def _shown(candidate: VerifyCandidate) -> str:
    commands = [candidate.setup, candidate.command] if candidate.setup else [candidate.command]
    return plain_line(" and ".join(f"`{' '.join(words or ())}`" for words in commands))


def _tell(line: str) -> None:
    click.echo(line, err=True)


def _indented(text: str) -> str:
    return "\n".join(f"    {line}" for line in plain_lines(text).splitlines()[-10:])


def _schema_text() -> str:
    return render_schema(next(kind for kind in KINDS if kind.model is WorkPackage))


def _write(path: Path, text: str, *, force: bool) -> None:
    """Write a file. Raises FileExistsError if it may not be replaced, and OSError."""
    if not force:
        with path.open("x", encoding="utf-8") as file:
            file.write(text)
        return
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def _as_json(target: Path, schema: Path, package: FirstPackage, choice: _Choice) -> str:
    tried = [
        {"command": item.candidate.command, "passed": item.passed, "result": f"{item.fact}."}
        for item in choice.tried
    ]
    shown = {
        "file": str(target),
        "schema": str(schema),
        "name": package.name,
        "verify": package.verify,
        "setup": package.setup,
        "source": choice.candidate.source or None,
        "agents": package.agents,
        "languages": package.languages,
        "tried": tried,
    }
    return json.dumps(shown, indent=2) + "\n"

"""Runs a package in a clone: reads it, checks what the run needs, shows it, and says what is next.

Owns the exit codes of the command, and the sentences for what cannot be started.
"""

import os
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from pydantic import ValidationError

from afresh.api.agent_class import AgentClass
from afresh.api.phases import PackagePhase
from afresh.api.work_package import WorkPackage
from afresh.cli.local_run_documents import BadDocumentsError, PackageDocuments, documents_of
from afresh.cli.local_run_screen import RunScreen
from afresh.cli.look.terminal import standard_output
from afresh.cli.looks import EXIT_CODES, Awaited, Output
from afresh.cli.manifest.source import read_files
from afresh.cli.requests import LocalRun
from afresh.local.changed_store import RunChanges
from afresh.local.classes import ADAPTERS, class_for, find_missing_program
from afresh.local.clone import CloneError
from afresh.local.keys import KeyMissingError, secrets_for
from afresh.local.sandbox.probe import SandboxError
from afresh.local.session import RunEnd, Session
from afresh.local.state import StateError

DEFAULT_FILES = ("package.yaml", ".afresh/package.yaml")
INTERRUPTED = 130
UNSEEN = "Agents do not see changes that are not committed."


class CannotStartError(click.ClickException):
    """Nothing was started; the message is one sentence with the remedy."""

    exit_code = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Work:
    """What is to be run. One that was run before has no `manifest` and no `source`, its file."""

    package: WorkPackage
    agent_class: AgentClass
    manifest: dict[str, Any] | None
    source: str | None

    @property
    def name(self) -> str:
        return self.package.metadata.name


def run_package(request: LocalRun, form: Output) -> int:
    """Run the package, and return the exit code. Raises CannotStartError."""
    try:
        session = Session.around(Path.cwd())
        work = _work(session, request)
        session.require_branch(work.package)
        session.require_sandbox()
        secrets = _needs(work, os.environ)
        branch, tree = work.package.branch, session.clone.tree
        place = f"Package {work.name} in the clone {tree}, on the branch {branch}."
        click.echo(place, err=form is Output.JSON)
        if session.clone.has_changes:
            click.echo(UNSEEN, err=True)
        _take_in(session, work)
        changes = RunChanges(mode=request.mode, parallelism=request.parallelism)
        with RunScreen(session.store(work.name), standard_output(), form) as screen:
            end = session.run(work.name, screen.show, secrets, changes)
    except (CloneError, StateError, SandboxError, KeyMissingError) as error:
        raise CannotStartError(str(error)) from error
    click.echo("\n".join(_next_steps(work, end)), err=form is Output.JSON)
    return _exit_code(end)


def _take_in(session: Session, work: _Work) -> None:
    """Have the clone's package be what is to be run. Raises CannotStartError."""
    if work.manifest is None:
        session.use_class(work.name, work.agent_class)
        return
    try:
        session.apply(work.manifest, work.agent_class.to_manifest())
    except ValueError as error:
        said = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        raise CannotStartError(
            f"{work.source} does not fit the package {work.name} that was run before: {said}."
        ) from error


def _work(session: Session, request: LocalRun) -> _Work:
    """Return a file's package, or one that was run before. Raises CannotStartError."""
    source = None if request.package else _file(session, request.file)
    if source is None:
        package = _stored(session, request.package)
        name = request.agent or package.spec.agent_class_name
        stored = session.store(package.metadata.name).agent_class()
        agent_class = _class_of(name, stored)
        return _Work(package=package, agent_class=agent_class, manifest=None, source=None)
    documents = _documents(source)
    manifest = documents.package
    if request.agent:
        manifest = manifest | {"spec": manifest["spec"] | {"agentClassName": request.agent}}
    given = documents.agent_class
    return _Work(
        package=WorkPackage.model_validate(manifest),
        agent_class=_class_of(
            manifest["spec"]["agentClassName"], AgentClass.model_validate(given) if given else None
        ),
        manifest=manifest,
        source=source,
    )


def _file(session: Session, given: str | None) -> str | None:
    """Return the file to read; None if none is given and none has one of the default names."""
    if given:
        return given
    folders = dict.fromkeys((Path.cwd(), session.clone.tree))
    found = (folder / name for folder in folders for name in DEFAULT_FILES)
    first = next((path for path in found if path.is_file()), None)
    return os.path.relpath(first) if first else None


def _documents(source: str) -> PackageDocuments:
    (file,) = read_files((source,))
    try:
        return documents_of(file)
    except BadDocumentsError as error:
        for finding in error.findings:
            print(finding, file=sys.stderr)
        raise CannotStartError(f"Correct {file.name}; nothing was started.") from error


def _stored(session: Session, name: str | None) -> WorkPackage:
    """Return a package that was run before. Raises CannotStartError."""
    stores = session.state.packages()
    names = [store.folder.name for store in stores]
    if name is None and not names:
        raise CannotStartError(
            "There is no package.yaml here, and no package was run in this clone before; write"
            " one with afresh init, or name its file with -f."
        )
    if name is None and len(names) > 1:
        raise CannotStartError(
            f"Several packages were run in this clone: {', '.join(names)}; name the one that is to"
            " go on."
        )
    if name is not None and name not in names:
        raise CannotStartError(
            f"No package {name} was run in this clone before; name its file with -f."
        )
    stored = stores[names.index(name)] if name else stores[0]
    try:
        return stored.package()
    except ValueError as error:
        raise CannotStartError(
            f"The package {stored.folder.name} was kept by another version of afresh, or is"
            " damaged; name its file with -f."
        ) from error


def _class_of(name: str, known: AgentClass | None) -> AgentClass:
    """Return the class of that name: the known one, or a program's. Raises CannotStartError."""
    found = known if known and known.metadata.name == name else class_for(name)
    if found is None:
        raise CannotStartError(
            f"There is no AgentClass {name}: add it to the package's file, or choose one of this"
            f" machine's programs with --agent: {', '.join(ADAPTERS)}."
        )
    return found


def _needs(work: _Work, environment: Mapping[str, str]) -> dict[str, str]:
    """Return the secrets that the agent needs. Raises CannotStartError and KeyMissingError."""
    program = find_missing_program(work.agent_class.spec, environment.get("PATH", os.defpath))
    if program:
        raise CannotStartError(
            f"The program {program} is not installed, or not on the PATH; install it, or choose"
            " another one with --agent."
        )
    return secrets_for(work.agent_class, environment)


def _next_steps(work: _Work, end: RunEnd) -> list[str]:
    """Return what to do next, in lines."""
    branch = shlex.quote(work.package.branch)
    again = (
        f"afresh run -f {shlex.quote(work.source)}" if work.source else f"afresh run {work.name}"
    )
    if end.interrupts:
        return [f"The run was interrupted. To go on: {again}"]
    phase, message = end.package.status.phase, end.package.status.message
    if phase is PackagePhase.SUCCEEDED:
        return [
            f"The work is on the branch {branch}:",
            f"  git log -p HEAD..{branch}",
            f"  git merge {branch}",
        ]
    if phase is PackagePhase.SUSPENDED:
        return [f"The package is suspended: set spec.suspend to false, then {again}"]
    if phase is PackagePhase.STALLED:
        return [f"The package is stalled: {message}", f"Correct that, then: {again}"]
    return [
        "To go on, add guidance to the subtask and raise its revision in the package's file, then:",
        f"  {again}",
    ]


def _exit_code(end: RunEnd) -> int:
    if end.interrupts:
        return INTERRUPTED
    phase = end.package.status.phase
    return 0 if phase is PackagePhase.SUCCEEDED else EXIT_CODES[Awaited(str(phase))]

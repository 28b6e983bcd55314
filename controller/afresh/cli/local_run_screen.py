"""What a person sees of a run: the tree in place on a terminal, otherwise a line for each change.

Knows the package's objects only. What cannot be shown any more does not end the run.
"""

import contextlib
import json
import sys
from dataclasses import replace
from types import TracebackType

from rich.console import Console
from rich.live import Live
from rich.text import Text

from afresh import clock
from afresh.api.agent_class import AgentClass
from afresh.cli.look.changes import changes
from afresh.cli.look.package_view import PackageView, view_of
from afresh.cli.look.status_tree import tree
from afresh.cli.look.terminal import Style, draw, line, picture_in_place, write
from afresh.cli.looks import Output
from afresh.core.decision import Decision
from afresh.core.observed import Observed
from afresh.local.store import PackageStore

INTERRUPTED = "Interrupted: what runs now is let end; Ctrl-C again ends it."


class RunScreen:
    """Shows a run while it is entered; afterwards the last tree stays on the terminal."""

    def __init__(self, store: PackageStore, console: Console, form: Output) -> None:
        self._store = store
        self._console = console
        self._form = form
        self._known: PackageView | None = None
        self._held = contextlib.ExitStack()
        self._picture: Live | None = None
        self._is_ending = False

    def __enter__(self) -> "RunScreen":
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _traceback: TracebackType | None,
    ) -> None:
        with contextlib.suppress(OSError):
            self._held.close()
            if self._picture and self._known:
                write(self._console, tree(self._known, self._console.width))

    def show(self, seen: Observed, _decision: Decision) -> None:
        """Show the package as it is now."""
        package = self._store.package()
        view = view_of(package, clock.now(), self._store.subtasks(), self._classes())
        # It is in no namespace, and its work needs no fetch: its branch is in the clone.
        view = replace(view, namespace="", fetch="")
        is_ending = seen.package.spec.suspend and not package.spec.suspend
        with contextlib.suppress(OSError):
            if self._console.is_terminal and self._form is Output.TEXT:
                # Not before: a run that cannot begin leaves the terminal as it is.
                self._picture = self._picture or self._held.enter_context(
                    picture_in_place(self._console)
                )
                draw(self._picture, self._lines(view, is_ending=is_ending))
            else:
                self._report(view, is_ending=is_ending)
        self._known, self._is_ending = view, is_ending

    def _classes(self) -> list[AgentClass]:
        found = self._store.agent_class()
        return [found] if found else []

    def _lines(self, view: PackageView, *, is_ending: bool) -> list[Text]:
        width, height = self._console.size
        note = [line((INTERRUPTED, Style.WARNING))] if is_ending else []
        return [*note, *tree(view, width, height - len(note))]

    def _report(self, view: PackageView, *, is_ending: bool) -> None:
        stamp = f"{clock.now():%Y-%m-%dT%H:%M:%SZ}"
        lines = list(changes(self._known, view))
        if lines and self._form is Output.JSON:
            lines = [json.dumps(view.to_json())]
        else:
            lines = [f"{stamp} {text}" for text in lines]
        for text in lines:
            print(text, flush=True)
        if is_ending and not self._is_ending:
            print(INTERRUPTED, file=sys.stderr, flush=True)

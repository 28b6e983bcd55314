"""Finds out whether bubblewrap can start a container here, by starting one.

The kernel's settings do not tell it, and the reasons differ from one system to the next.
"""

import shutil
import subprocess
import tempfile
from pathlib import Path

from afresh.contract.text import one_line
from afresh.local.sandbox.bubblewrap import PROGRAM, Container, command_of

SECONDS = 20
IS_FIRST = ("/bin/sh", "-c", "[ $$ = 1 ]")


class SandboxError(Exception):
    """No agent can be held on this machine; the message is one sentence with the remedy."""


def require_bubblewrap() -> None:
    """Raise SandboxError if no container can be started."""
    if shutil.which(PROGRAM) is None:
        raise SandboxError(
            "The program bwrap was not found; install the package bubblewrap, which keeps an agent"
            " in its worktree."
        )
    with tempfile.TemporaryDirectory(prefix="afresh-") as folder:
        parts = [Path(folder, name) for name in ("tree", "home", "control", "tmp")]
        for part in parts:
            part.mkdir()
        tree, home, control, tmp = parts
        container = Container(tree=tree, home=home, control=control, tmp=tmp)
        try:
            ended = subprocess.run(  # noqa: S603  # our own sandbox
                command_of(container, IS_FIRST),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=SECONDS,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _cannot_start(str(error)) from error
    if ended.returncode:
        raise _cannot_start((ended.stderr.strip().splitlines() or ["no reason given"])[-1])


def _cannot_start(why: str) -> SandboxError:
    return SandboxError(
        f"bubblewrap cannot start a container here ({one_line(why)}); allow unprivileged user"
        " namespaces on this machine, or run afresh in a virtual machine."
    )

"""Tries commands in a copy of HEAD that is thrown away. Never writes into the person's clone.

Owns the processes: whatever a command starts in its session ends with it, at the time limit, and
when the person interrupts.
"""

import contextlib
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from afresh import clock
from afresh.cli.init.candidates import VerifyCandidate
from afresh.cli.init.repository import RepositoryFacts, git, plain_environment
from afresh.cli.requests import CommandError

TAIL_BYTES = 2000
POLL_SECONDS = 0.05
_NO_HOOKS = ("-c", "core.hooksPath=/dev/null", "-c", "advice.detachedHead=false")


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedCommand:
    """How a candidate did on HEAD: a fact as a sentence without its end, and the output's end."""

    candidate: VerifyCandidate
    passed: bool
    fact: str
    tail: str = ""


def try_candidate(
    facts: RepositoryFacts, candidate: VerifyCandidate, seconds: float
) -> TriedCommand:
    """Run the setup and the command in a fresh copy. Raises CommandError without a copy."""
    with _copy_of_head(facts) as (copy, output):
        for words in (candidate.setup, candidate.command):
            if words:
                fact = _run(words, copy, output, seconds)
                if fact:
                    output.flush()
                    return TriedCommand(
                        candidate=candidate, passed=False, fact=fact, tail=_tail(output)
                    )
    return TriedCommand(candidate=candidate, passed=True, fact="it passes on HEAD")


@contextlib.contextmanager
def _copy_of_head(facts: RepositoryFacts) -> Iterator[tuple[Path, IO[bytes]]]:
    with tempfile.TemporaryDirectory(prefix="afresh-init-", ignore_cleanup_errors=True) as folder:
        copy = Path(folder) / "copy"
        # With --shared nothing is copied or locked; an empty template brings no hooks.
        cloned = git(
            facts.root, *_NO_HOOKS, "clone", "--quiet", "--shared", "--no-checkout",
            "--template=", "--", str(facts.root), str(copy),
        )  # fmt: skip
        if cloned is None or git(copy, *_NO_HOOKS, "checkout", "--quiet", facts.commit) is None:
            raise CommandError(
                f"HEAD cannot be copied to {folder}: see that there is room, or use --no-try."
            )
        with (Path(folder) / "output").open("w+b") as output:
            yield copy, output


def _run(words: tuple[str, ...], copy: Path, output: IO[bytes], seconds: float) -> str:
    """Run one command; return what is wrong, or nothing if it exits with 0."""
    try:
        process = subprocess.Popen(  # noqa: S603  # the person agreed to this command
            words,
            cwd=copy,
            env=plain_environment(),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError:
        return f"{words[0]} cannot be started here"
    name, end = " ".join(words), clock.elapsed() + seconds
    try:
        while not _has_ended(process) and clock.elapsed() < end:
            time.sleep(POLL_SECONDS)
        in_time = _has_ended(process)
    finally:
        # Before the process is waited for: until then its number belongs to nobody else.
        os.killpg(process.pid, signal.SIGKILL)
        code = process.wait()
    if not in_time:
        return f"{name} does not end within {seconds:.0f} seconds on HEAD"
    return f"{name} fails with exit code {code} on HEAD" if code else ""


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    """Whether the process has ended; it is not waited for."""
    ended = os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    return ended is not None


def _tail(output: IO[bytes]) -> str:
    size = output.seek(0, os.SEEK_END)
    output.seek(max(0, size - TAIL_BYTES))
    return output.read().decode(errors="replace")

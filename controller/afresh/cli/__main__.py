"""The program: `afresh`, `kubectl afresh`, and `python -m afresh.cli`.

Owns the exit codes: 0, 1 for a failure, 2 for bad use, 130 when interrupted, 143 when terminated.
Errors are one sentence on standard error.
"""

import contextlib
import io
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

import click

from afresh.cli.commands import afresh
from afresh.cli.printable import plain_line
from afresh.cli.requests import CommandError

INTERRUPTED = 130
TERMINATED = 143
# kubectl runs a program of this name for `kubectl afresh`.
PLUGIN = "kubectl-afresh"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command, by default the process's own, and return its exit code."""
    # What a credential plugin says goes through the log of the Kubernetes client.
    logging.basicConfig(level=logging.ERROR, format="%(message)s")
    # A terminal of another alphabet is shown a question mark for a letter that it lacks.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    program = "kubectl afresh" if Path(sys.argv[0]).name.startswith(PLUGIN) else "afresh"
    with _unwound_when_terminated():
        return _run(program, arguments)


def _run(program: str, arguments: Sequence[str] | None) -> int:
    try:
        code = afresh.main(arguments, prog_name=program, standalone_mode=False)
        # Report here what cannot be written; the interpreter would do so at its exit.
        if sys.stdout:
            sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        error.show()
        return error.exit_code
    except click.UsageError as error:
        said = error.format_message().rstrip(".")
        path = error.ctx.command_path if error.ctx else program
        return _fail(f"{said}; see {path} --help.", error.exit_code)
    except click.ClickException as error:
        return _fail(error.format_message(), error.exit_code)
    except CommandError as error:
        return _fail(str(error), 1)
    except (click.Abort, KeyboardInterrupt):
        return _fail("Interrupted.", INTERRUPTED)
    except BrokenPipeError:
        # The reader has seen enough.
        _write_nowhere()
        return 1
    except OSError as error:
        _write_nowhere()
        what = error.filename or "Standard output"
        return _fail(f"{what} cannot be written: {error.strerror or error}.", 1)
    return code if isinstance(code, int) else 0


@contextlib.contextmanager
def _unwound_when_terminated() -> Iterator[None]:
    """Make SIGTERM end the block as an interrupt does, so that the block can clean up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _leave(_signal: int, _frame: FrameType | None) -> None:
    sys.exit(TERMINATED)


def _write_nowhere() -> None:
    """Discard the rest of the output, which is flushed at the exit."""
    if sys.stdout:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _fail(sentence: str, code: int) -> int:
    print(f"error: {plain_line(sentence)}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())

"""Reads what agents left on the branch, with the user's own git and credentials.

Asks for nothing, runs no hook, checks nothing out, and ends within a bounded time.
"""

import os
import re
import signal
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from afresh.cli.printable import plain_line

SECONDS = 60
MAX_BYTES = 256 * 1024
DISCOVERY = ".afresh/DISCOVERY.md"
IDEAS = ".afresh/IDEAS.md"

# The repository is the one that is fetched, whatever this command was started from.
_LOCAL = frozenset(
    {"GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR",
     "GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_NAMESPACE", "GIT_PREFIX"}
)  # fmt: skip
_SILENT = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "false",
    "SSH_ASKPASS_REQUIRE": "never",
    "GCM_INTERACTIVE": "never",
    # A command is no transport. Files are for a person's own `url.*.insteadOf`.
    "GIT_ALLOW_PROTOCOL": "file:http:https:ssh",
    "LC_ALL": "C",
}
_CREDENTIALS = re.compile(r"(?<=://)[^/@\s]+(?=@)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """The agents' notes; empty where there are none. `problem` says why they could not be read."""

    discovery: str = ""
    ideas: str = ""
    problem: str = ""


class _UnreadError(Exception):
    """What git said."""


def read_notes(url: str, branch: str, seconds: float = SECONDS) -> Notes:
    """Return the notes at the head of `branch`; each git command may take `seconds`."""
    with tempfile.TemporaryDirectory(prefix="afresh-") as folder:
        repository = Path(folder) / "branch.git"
        try:
            _git(
                *("clone", "--quiet", "--bare", "--depth=1", "--filter=blob:none", "--no-tags"),
                *("--template=", f"--branch={branch}", "--", url, str(repository)),
                seconds=seconds,
            )
            return Notes(
                discovery=_file(repository, DISCOVERY, seconds),
                ideas=_file(repository, IDEAS, seconds),
            )
        except _UnreadError as error:
            return Notes(problem=f"{DISCOVERY} and {IDEAS} cannot be read: {error}")


def _file(repository: Path, path: str, seconds: float) -> str:
    inside = ("-C", str(repository))
    listed = _git(*inside, "ls-tree", "-l", "HEAD", "--", path, seconds=seconds).split()
    if not listed or not listed[0].startswith(b"100"):
        return ""
    if int(listed[3]) > MAX_BYTES:
        raise _UnreadError(f"{path} is over {MAX_BYTES // 1024} KiB.")
    content = _git(*inside, "cat-file", "blob", listed[2].decode(), seconds=seconds)
    return content.decode(errors="replace")


def _git(*arguments: str, seconds: float) -> bytes:
    kept = {key: value for key, value in os.environ.items() if key not in _LOCAL}
    try:
        process = subprocess.Popen(  # noqa: S603  # a list, never a shell's
            ["git", "-c", "credential.interactive=false", *arguments],  # noqa: S607  # the user's own
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=kept | _SILENT,
            start_new_session=True,  # nothing to ask at, and one group to end
        )
    except OSError as error:
        raise _UnreadError(f"git cannot be run: {error.strerror}.") from error
    try:
        out, err = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        raise _UnreadError(f"git got no answer within {seconds:.0f} seconds.") from None
    finally:
        _end(process)
    if process.returncode:
        raise _UnreadError(f"git says: {_reason(err)}")
    return out


def _end(process: subprocess.Popen[bytes]) -> None:
    """End what is left of it: git's children hold the pipes, and outlive a time limit."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def _reason(said: bytes) -> str:
    """The line that says why, without anybody's credentials."""
    lines = [plain_line(line) for line in said.decode(errors="replace").splitlines()]
    fatal = [line for line in lines if line.startswith(("fatal:", "error:"))]
    if any("askpass" in line for line in fatal):
        return (
            "it has no login for the repository on this machine; set up a credential helper for it."
        )
    chosen = (fatal or [line for line in lines if line] or ["nothing"])[0]
    return _CREDENTIALS.sub("...", chosen)

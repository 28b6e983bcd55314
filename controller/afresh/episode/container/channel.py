"""The runner's end of one control volume: starts commands in a container and learns how they end.

The other end is `contract.shim`. Any process in that container can write what comes back, so it is
only a claim unless it carries a key that only the shim knows. The end of a command and the
confirmation that no process is left carry such a key. No claim can hang the runner or fill its
memory.
"""

import contextlib
import os
import select
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from afresh.episode.container.lines import LineReader

Sink = Callable[[bytes], None]

CLOSED = "closed"
FIFOS = ("done", "out", "err", "go")  # the shim waits for the last
CHUNK = 1 << 16
WORD_LIMIT = 256
RESEND_SECONDS = 0.5
DRAIN_LIMIT = 64 << 20
KEY_BYTES = 16


class ContainerGone(Exception):  # noqa: N818  # a fact to act on, as SubtaskStopped is
    """The container's first process has ended."""


class ContainerRefused(Exception):  # noqa: N818  # as above
    """The container cannot meet a condition of the shim. The argument names the condition."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A shell script to run in the container, with its standard input and its limit in seconds."""

    name: str
    script: str
    limit: float
    stdin: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEnd:
    """How a command ended. Without an exit code, its container was killed or it did not stop."""

    exit_code: int | None = None
    timed_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StopPatience:
    """How many seconds processes have to end after SIGTERM, and after SIGKILL."""

    after_term: float = 5.0
    after_kill: float = 5.0


@dataclass(frozen=True, slots=True)
class _Keys:
    """The keys that prove that an answer about one command comes from the shim."""

    started: str
    ended: str


class Channel:
    """Talks to the shim of one container, which runs the named commands on request.

    Each command can run once after the greeting, and once more after each `clear`.
    """

    def __init__(
        self, directory: Path, commands: Sequence[str], patience: StopPatience | None = None
    ) -> None:
        self._directory = directory
        self._commands = tuple(commands)
        self._patience = patience or StopPatience()
        self._keys: dict[str, _Keys] = {}
        self._killed = ""
        self._greeted = False
        self._words = LineReader(WORD_LIMIT)
        self._poller = select.poll()
        self._fds: dict[str, int] = {}

    def open(self) -> None:
        """Create the FIFOs. Each gets its name only when the runner has opened it."""
        self._directory.mkdir(parents=True, exist_ok=True)
        for name in FIFOS:
            hidden = self._directory / f".{name}"
            os.mkfifo(hidden, 0o600)
            # Read-write: the shim's open does not wait for us, and ours not for the shim.
            mode = os.O_RDWR if name == "go" else os.O_RDONLY
            self._fds[name] = os.open(hidden, mode | os.O_NONBLOCK | os.O_CLOEXEC)
        for name in FIFOS:
            (self._directory / f".{name}").rename(self._directory / name)
            if name != "go":
                self._poller.register(self._fds[name], select.POLLIN)

    def greet(self) -> None:
        """Wait without limit until the container has started.

        Raises ContainerRefused or ContainerGone. Removes the names of the FIFOs, so that nothing
        else in the container opens them by mistake, for instance a recursive grep. A second call
        returns at once.
        """
        while not self._greeted:
            for word in self._hear(None):
                if word == "hello":
                    self._forget_names()
                    self._lock()
                    self._greeted = True
                    self._give_keys()
                    return
                if word.startswith("refused "):
                    raise ContainerRefused(word.removeprefix("refused "))

    def is_gone(self) -> bool:
        """Whether the container had started and its first process has ended."""
        return bool(dict(self._poller.poll(0)).get(self._fds["done"], 0) & select.POLLHUP)

    def run(
        self, command: Command, out: Sink, err: Sink, started: Callable[[], None]
    ) -> CommandEnd:
        """Run a command until it ends; at its limit send SIGTERM, and later SIGKILL.

        Calls `started` when the shim reports the start. Raises ContainerGone if the container ends
        before that; if it ends later, the CommandEnd has no exit code.
        """
        keys = self._keys.pop(command.name)
        self._write_file(f"{command.name}.sh", command.script)
        if command.stdin is not None:
            self._write_file(f"{command.name}.stdin", command.stdin)
        self._say(f"run {command.name}")
        watch = _Watch(command.limit, self._patience)
        sinks = {"out": out, "err": err}
        has_started = False
        while not watch.has_expired:
            for order in watch.orders():
                self._say(order)
            try:
                words = self._hear(watch.pause(), sinks)
            except ContainerGone:
                if not has_started:
                    raise
                break
            for word in words:
                if word == f"started {keys.started}":
                    has_started = True
                    started()
                code = _exit_code(word, keys.ended)
                if code is not None:
                    self._drain(sinks)
                    return CommandEnd(exit_code=code, timed_out=watch.expired)
        return CommandEnd(timed_out=watch.expired)

    def clear(self) -> bool:
        """Kill all remaining processes. Returns False if the shim does not confirm it in time."""
        killed = f"killed {self._killed}"
        give_up = time.monotonic() + self._patience.after_kill
        while time.monotonic() < give_up:
            self._say("kill")
            try:
                if killed in self._hear(RESEND_SECONDS):
                    self._give_keys()
                    return True
            except ContainerGone:
                return True
        return False

    def stop(self) -> None:
        """Ask all processes in the container to end. Safe to call from another thread."""
        for order in ("term", "kill", "exit"):
            self._say(order)

    def leave(self) -> None:
        """Let the container end, even one that has not started yet: it is no longer needed."""
        self._say("exit")
        self._directory.mkdir(parents=True, exist_ok=True)
        (self._directory / CLOSED).touch()
        self._forget_names()

    def _give_keys(self) -> None:
        """Send new keys to the shim. No other process may run there, since it could read them."""
        self._killed = _new_key()
        self._keys = {name: _Keys(_new_key(), _new_key()) for name in self._commands}
        words = (f"{name} {keys.started} {keys.ended}" for name, keys in self._keys.items())
        self._say(f"keys {self._killed} {' '.join(words)}")

    def _lock(self) -> None:
        """Forbid opening the FIFOs of orders and answers; the shim has them open already.

        Otherwise a program of the same user could open them through /proc, and read the shim's
        answers before the runner or answer in its place. Its mount is read-only, so it cannot
        change the mode back.
        """
        for name in ("go", "done"):
            os.fchmod(self._fds[name], 0)

    def _forget_names(self) -> None:
        for name in FIFOS:
            (self._directory / name).unlink(missing_ok=True)

    def _write_file(self, name: str, content: str) -> None:
        (self._directory / name).write_text(content, encoding="utf-8")

    def _say(self, line: str) -> None:
        go = self._fds.get("go")
        if go is None:
            return  # asked to stop before anything was started
        with contextlib.suppress(BlockingIOError):  # filled from inside; the limits still apply
            os.write(go, f"{line}\n".encode())

    def _hear(self, seconds: float | None, sinks: dict[str, Sink] | None = None) -> list[str]:
        """Read once what is available, waiting at most `seconds`; return the shim's lines."""
        events = self._poller.poll(None if seconds is None else max(0.0, seconds) * 1000)
        ready = dict(events)
        words: list[str] = []
        for name in ("out", "err", "done"):
            event = ready.get(self._fds[name], 0)
            if event & select.POLLIN:
                data = self._read(name)
                if name == "done":
                    words += [line.text for line in self._words.feed(data) if line.text]
                elif sinks:
                    sinks[name](data)
            elif event & select.POLLHUP and name == "done" and not words:
                raise ContainerGone
        return words

    def _read(self, name: str) -> bytes:
        try:
            return os.read(self._fds[name], CHUNK)
        except BlockingIOError:  # another process has read it first
            return b""

    def _drain(self, sinks: dict[str, Sink]) -> None:
        """Read what the command wrote before it ended; other processes may still be writing."""
        for name, sink in sinks.items():
            for _ in range(DRAIN_LIMIT // CHUNK):
                try:
                    data = os.read(self._fds[name], CHUNK)
                except BlockingIOError:
                    break
                if not data:
                    break
                sink(data)


class _Watch:
    """Decides when a running command must be sent an order to stop."""

    def __init__(self, limit: float, patience: StopPatience) -> None:
        self._patience = patience
        self._deadline = time.monotonic() + limit
        self._next = self._deadline
        self._sent_term = False

    @property
    def expired(self) -> bool:
        return self._sent_term

    @property
    def has_expired(self) -> bool:
        patience = self._patience.after_term + self._patience.after_kill
        return time.monotonic() > self._deadline + patience

    def pause(self) -> float:
        return self._next - time.monotonic()

    def orders(self) -> list[str]:
        now = time.monotonic()
        if now < self._next:
            return []
        if not self._sent_term:
            self._sent_term = True
            self._next = now + self._patience.after_term
            return ["term"]
        self._next = now + RESEND_SECONDS
        return ["kill"]


def _new_key() -> str:
    return os.urandom(KEY_BYTES).hex()


def _exit_code(word: str, key: str) -> int | None:
    head, _, code = word.rpartition(" ")
    if head != f"rc {key}" or not code.isdecimal() or len(code) > 3:
        return None
    return int(code)

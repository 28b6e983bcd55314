"""The runner's end of one control volume: starts commands there and hears how they end.

The other end is `contract.shim`. What comes back was written by whoever runs in that container: it
is a claim, unless it carries a key that only the shim was told: how a command ended, and that no
process is left. This file promises that no claim can hang the runner or fill its memory.
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
    """The container cannot keep what it was asked for. The argument says what."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A shell script to run in the container, with its input and its limit in seconds."""

    name: str
    script: str
    limit: float
    stdin: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandEnd:
    """How a command ended. No exit code: its container was killed, or it could not be stopped."""

    exit_code: int | None = None
    timed_out: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StopPatience:
    """How long, in seconds, processes are given to end after TERM, and after KILL."""

    after_term: float = 5.0
    after_kill: float = 5.0


@dataclass(frozen=True, slots=True)
class _Keys:
    """The words by which the answers to one command are believed."""

    started: str
    ended: str


class Channel:
    """Talks to the shim of one container, which runs each of the named commands when asked to.

    A command runs at most once after the greeting, and once more after each `clear`.
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
        """Make the FIFOs. The shim finds them complete or not at all."""
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
        """Wait until the container is there, for as long as it takes.

        Raises ContainerRefused, or ContainerGone. The names of the FIFOs are removed, so that
        nothing else in the container opens them by mistake, a recursive grep for instance. A
        second greeting returns at once.
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
        """Whether the container was there, and its first process has ended."""
        return bool(dict(self._poller.poll(0)).get(self._fds["done"], 0) & select.POLLHUP)

    def run(
        self, command: Command, out: Sink, err: Sink, started: Callable[[], None]
    ) -> CommandEnd:
        """Run a command to its end or its limit; then TERM, and KILL five seconds later.

        `started` is called when the container says that it begins. Raises ContainerGone if the
        container ends before that; afterwards, that is an CommandEnd without an exit code.
        """
        keys = self._keys.pop(command.name)
        self._write_file(f"{command.name}.sh", command.script)
        if command.stdin is not None:
            self._write_file(f"{command.name}.stdin", command.stdin)
        self._say(f"run {command.name}")
        watch = _Watch(command.limit, self._patience)
        sinks = {"out": out, "err": err}
        has_started = False
        while not watch.given_up:
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
        """Kill every process that is left. False if the container does not confirm it in time."""
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
        """Ask everything in the container to end. Safe to call from another thread."""
        for order in ("term", "kill", "exit"):
            self._say(order)

    def leave(self) -> None:
        """Tell the container, even one that is yet to start, that it is not needed any more."""
        self._say("exit")
        self._directory.mkdir(parents=True, exist_ok=True)
        (self._directory / CLOSED).touch()
        self._forget_names()

    def _give_keys(self) -> None:
        """Tell the shim new keys. Nobody else may be in the container, who could read them."""
        self._killed = _new_key()
        self._keys = {name: _Keys(_new_key(), _new_key()) for name in self._commands}
        words = (f"{name} {keys.started} {keys.ended}" for name, keys in self._keys.items())
        self._say(f"keys {self._killed} {' '.join(words)}")

    def _lock(self) -> None:
        """Let nobody open the words' FIFOs any more; the shim has them open.

        Through /proc a program of the same user could else read the shim's answers before the
        runner, or speak in its place. It sees a read-only mount, so it cannot change a mode.
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
            return  # told to stop before anything was started
        with contextlib.suppress(BlockingIOError):  # somebody in there filled it; limits still hold
            os.write(go, f"{line}\n".encode())

    def _hear(self, seconds: float | None, sinks: dict[str, Sink] | None = None) -> list[str]:
        """Read once whatever is there, waiting at most `seconds`; return what the shim said."""
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
        except BlockingIOError:  # somebody in there has read it first
            return b""

    def _drain(self, sinks: dict[str, Sink]) -> None:
        """Read what the command wrote before it ended; somebody may still be writing."""
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
    """Says when a command has to be told to stop."""

    def __init__(self, limit: float, patience: StopPatience) -> None:
        self._patience = patience
        self._deadline = time.monotonic() + limit
        self._next = self._deadline
        self._sent_term = False

    @property
    def expired(self) -> bool:
        return self._sent_term

    @property
    def given_up(self) -> bool:
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

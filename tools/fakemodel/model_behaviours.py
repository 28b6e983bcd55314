"""Directives in a prompt that make the scripted model fail, or do what a test requests.

A line of the prompt or of the guidance requests a behaviour; README.md lists them:

    demo-model: NAME [times=N] [after=N] [retry-after=N] [ARGUMENT]

`after=N` delays a failure until the tools have answered N times; `times=N` ends it after N requests
with the same brief. Only that count is kept between requests. This file must not know HTTP.
"""

import re
import threading
from collections import Counter
from dataclasses import dataclass, replace
from enum import Enum

from tools.fakemodel.model_script import Call, Conversation, Reply, Tool, blocked, run, write_file


class UnknownBehaviourError(Exception):
    """A prompt requests an unknown behaviour. The message is for the author of the prompt."""


class Break(Enum):
    """Failures without a proper answer."""

    RESET = "reset"
    EMPTY = "empty"
    CUT_OFF = "cut-off"
    HANG = "hang"


class ApiRefusalReason(Enum):
    """Why an API refuses a request; each dialect has its own error for it."""

    UNAUTHORIZED = "unauthorized"
    NO_CREDIT = "no-credit"
    RATE_LIMITED = "rate-limited"
    SERVER_ERROR = "server-error"
    UNAVAILABLE = "unavailable"
    OVERLOADED = "overloaded"
    BAD_REQUEST = "bad-request"
    NOT_FOUND = "not-found"
    TOO_LARGE = "too-large"


@dataclass(frozen=True, slots=True)
class ApiRefusal:
    """An error answer of the API; `message` replaces the API's usual one."""

    reason: ApiRefusalReason
    message: str = ""
    retry_after: int | None = None


Failure = Break | ApiRefusal

FAILURES: dict[str, Failure] = {
    "unauthorized": ApiRefusal(ApiRefusalReason.UNAUTHORIZED),
    "no-credit": ApiRefusal(ApiRefusalReason.NO_CREDIT),
    "rate-limited": ApiRefusal(ApiRefusalReason.RATE_LIMITED, retry_after=1),
    "server-error": ApiRefusal(ApiRefusalReason.SERVER_ERROR),
    "unavailable": ApiRefusal(ApiRefusalReason.UNAVAILABLE),
    "overloaded": ApiRefusal(ApiRefusalReason.OVERLOADED),
    **{fault.value: fault for fault in Break},
}

ACTS = ("shell", "write", "blocked", "idle", "endless")

_LINE = re.compile(
    r"""^\W* demo-model: [ \t]+ (?P<name>[\w-]+)
    (?P<options>(?:[ \t]+[a-z-]+=\d+)*) [ \t]* (?P<argument>.*)$""",
    re.MULTILINE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Directive:
    """One line that requests a behaviour."""

    name: str
    argument: str = ""
    times: int | None = None
    after: int = 0
    retry_after: int | None = None

    def failure(self) -> Failure | None:
        """Return how the request must fail; None if it must not."""
        failure = FAILURES.get(self.name)
        if isinstance(failure, ApiRefusal) and self.retry_after is not None:
            return replace(failure, retry_after=self.retry_after)
        return failure


def find_directives(brief: str) -> tuple[Directive, ...]:
    """Return the behaviours that `brief` requests, in order. Raises UnknownBehaviourError."""
    return tuple(_directive(match) for match in _LINE.finditer(brief))


def without_directives(brief: str) -> str:
    """Return the brief without the lines of directives."""
    return _LINE.sub("", brief)


def act(directives: tuple[Directive, ...], turns: int) -> Reply | None:
    """Return the model's reply after `turns` finished turns; None if no behaviour is requested.

    Each act takes one turn, in order; `endless`, as the last one, takes all further turns.
    """
    acts = _acts(directives)
    if not acts:
        return None
    if turns < len(acts):
        return _perform(acts[turns])
    return _perform(acts[-1]) if acts[-1].name == "endless" else Reply("Done.")


def act_at_once(directives: tuple[Directive, ...]) -> Reply | None:
    """Return all requested acts in one reply, for an agent that has no turns.

    `endless` is then an edit that cannot be applied, so that the agent requests another answer.
    """
    acts = _acts(directives)
    calls = [call for directive in acts for call in _perform(directive).calls]
    if acts and acts[-1].name == "endless":
        calls[-1] = Call(Tool.EDIT, {"path": "endless.txt", "old": "There is no end.", "new": ""})
    return Reply("Done.", tuple(calls)) if acts else None


class Countdown:
    """Counts how often each brief got its limited failures. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._met: Counter[tuple[str, int]] = Counter()

    def due_failure(
        self, conversation: Conversation, directives: tuple[Directive, ...]
    ) -> Failure | None:
        """Return how this request must fail, and count it; None if it must not."""
        turns = len(conversation.results)
        for number, directive in enumerate(directives):
            failure = directive.failure()
            if (
                failure
                and turns >= directive.after
                and self._is_left(conversation.brief, number, directive)
            ):
                return failure
        return None

    def _is_left(self, brief: str, number: int, directive: Directive) -> bool:
        if directive.times is None:
            return True
        with self._lock:
            self._met[brief, number] += 1
            return self._met[brief, number] <= directive.times


def _acts(directives: tuple[Directive, ...]) -> list[Directive]:
    return [directive for directive in directives if directive.name in ACTS]


def _perform(directive: Directive) -> Reply:
    match directive.name:
        case "shell":
            return Reply(calls=(run(directive.argument),))
        case "write":
            path = directive.argument or "unasked.txt"
            return Reply(calls=(write_file(path, "Nobody asked for this.\n"),))
        case "blocked":
            return blocked(directive.argument or "A person must decide this.")
        case "endless":
            return Reply("Once more.", (run("echo still working"),))
        case _:
            return Reply("Done.")


def _directive(match: re.Match[str]) -> Directive:
    name, options = match["name"], dict(option.split("=") for option in match["options"].split())
    if name not in FAILURES and name not in ACTS:
        known = ", ".join([*FAILURES, *ACTS])
        raise UnknownBehaviourError(
            f'demo-model: there is no behaviour "{name}"; use one of {known}'
        )
    if unknown := sorted(options.keys() - {"times", "after", "retry-after"}):
        raise UnknownBehaviourError(
            f'demo-model: there is no option "{unknown[0]}"; use times, after or retry-after'
        )
    return Directive(
        name=name,
        argument=match["argument"].strip(),
        times=int(options["times"]) if "times" in options else None,
        after=int(options.get("after", 0)),
        retry_after=int(options["retry-after"]) if "retry-after" in options else None,
    )

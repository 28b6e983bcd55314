"""Turns the error message of a failed program into a Verdict, with messages shared by adapters.

This module owns the order in which meanings are tried. Each adapter owns its patterns. Pure.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from afresh.adapters.adapter import Verdict
from afresh.contract.sentences import with_details
from afresh.contract.stable_words import steady
from afresh.contract.text import shortened
from afresh.contract.words import Outcome

TEXT_LENGTH = 300
# The cause of a failure is at the beginning; in a megabyte, a pattern could search for hours.
READ_LENGTH = 4096
CANNOT_RUN = (126, 127)
# The form of session ids in several programs.
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NO_RESULT = Verdict(
    outcome=Outcome.NO_RESULT,
    message="The agent program ended without a result; read the end of its log with afresh logs.",
)
USED_UP = Verdict(
    outcome=Outcome.TURN_LIMIT,
    message="The agent used up spec.episode.maxTurns; raise that, or make the subtask smaller.",
)
EXHAUSTED = Verdict(
    outcome=Outcome.CONTEXT_EXHAUSTED,
    message="The agent's conversation outgrew the model's context; make the subtask smaller.",
)

FAILED = "The agent program failed; read the end of its log with afresh logs."
_FAILED = {
    Outcome.AGENT_ERROR: FAILED,
    Outcome.AUTH: "The model's endpoint refuses the agent's key; correct the Secret of the "
    "AgentClass in this namespace.",
    Outcome.TRANSIENT: "The model's endpoint fails; there is nothing to do if it recovers.",
    Outcome.CONFIG: "The agent program refuses to run; correct the setting that the details name.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """The patterns by which a program's error messages are recognized."""

    too_long: re.Pattern[str]
    auth: re.Pattern[str]
    transient: re.Pattern[str]

    def verdict(self, text: str, *, behind_gateway: bool) -> Verdict:
        """Return the verdict for the error message `text`.

        Behind the gateway, failures of the model are not read from `text`: the gateway itself
        reports them.
        """
        text = text[:READ_LENGTH]
        if self.too_long.search(text):
            return EXHAUSTED
        outcome = Outcome.AGENT_ERROR
        if not behind_gateway and self.auth.search(text):
            outcome = Outcome.AUTH
        elif not behind_gateway and self.transient.search(text):
            outcome = Outcome.TRANSIENT
        return failed(outcome, text)


def failed(outcome: Outcome, text: str) -> Verdict:
    """Return the verdict for `outcome`, with the program's error message `text` as details."""
    details = shortened(steady(text), TEXT_LENGTH)
    return Verdict(outcome=outcome, message=with_details(_FAILED[outcome], details))


def not_in_image(program: str) -> Verdict:
    """Return the verdict for an image that does not contain the program, or cannot start it."""
    return Verdict(
        outcome=Outcome.CONFIG,
        message=f"The agent's image cannot run the program {program}; correct spec.image.",
    )


def json_event(line: str) -> dict[str, Any] | None:
    """Return the line parsed as a JSON object, or None if it is not one.

    Raises RecursionError if the object is nested too deeply.
    """
    if not line.startswith("{"):
        return None
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None

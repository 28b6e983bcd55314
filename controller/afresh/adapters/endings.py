"""From a failed program's own words to a Verdict, in the sentences that are the same for several.

Owns the order of what words may mean. The words themselves are each adapter's. Pure.
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
# Why a program failed stands at the beginning; in a megabyte, a pattern could search for hours.
READ_LENGTH = 4096
CANNOT_RUN = (126, 127)
# What several programs call a run that can be gone on with.
UUID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
NO_RESULT = Verdict(
    outcome=Outcome.NO_RESULT,
    message="The agent's program ended without a result; read the end of its log with afresh logs.",
)
USED_UP = Verdict(
    outcome=Outcome.TURN_LIMIT,
    message="The agent used up spec.episode.maxTurns; raise that, or make the subtask smaller.",
)
EXHAUSTED = Verdict(
    outcome=Outcome.CONTEXT_EXHAUSTED,
    message="The agent's conversation outgrew the model's context; make the subtask smaller.",
)

FAILED = "The agent's program failed; read the end of its log with afresh logs."
_FAILED = {
    Outcome.AGENT_ERROR: FAILED,
    Outcome.AUTH: "The model's endpoint refuses the agent's key; correct the Secret of the "
    "AgentClass in this namespace.",
    Outcome.TRANSIENT: "The model's endpoint fails; nothing is to be done if it passes.",
    Outcome.CONFIG: "The agent's program refuses to run; correct what the details name.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wording:
    """How a program says why it failed."""

    too_long: re.Pattern[str]
    auth: re.Pattern[str]
    transient: re.Pattern[str]

    def verdict(self, text: str, *, behind_gateway: bool) -> Verdict:
        """Return what `text` means; behind the gateway, the gateway knows better of the model."""
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
    """Return the verdict on a program that says why it failed."""
    said = shortened(steady(text), TEXT_LENGTH)
    return Verdict(outcome=outcome, message=with_details(_FAILED[outcome], said))


def not_in_image(program: str) -> Verdict:
    """Return the verdict on an image that does not hold the program, or cannot start it."""
    return Verdict(
        outcome=Outcome.CONFIG,
        message=f"The agent's image cannot run the program {program}; correct spec.image.",
    )


def json_event(line: str) -> dict[str, Any] | None:
    """Return a line as the JSON object that it is, or None. Raises RecursionError."""
    if not line.startswith("{"):
        return None
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None

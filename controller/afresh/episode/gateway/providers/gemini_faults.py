"""Classifies the errors of the Gemini API, and finds how long they suggest to wait. Pure.

The status, the reason and the text of an error say more than its HTTP status: a wrong key is
reported as a bad request, and an account without credit as a rate limit.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from afresh.episode.gateway.model_api import ModelFault
from afresh.episode.gateway.wire_values import number_of

_NO_CREDIT = re.compile(
    r"credits? (?:are|is) depleted|spending (?:cap|limit)|enable billing|billing is disabled"
    # A quota of zero: the plan does not include the model.
    r"|\blimit: 0\b(?!\.\d)",
    re.IGNORECASE,
)
_TOO_LONG = re.compile(
    r"token count .{0,40}exceeds|exceeds the maximum number of tokens|payload size exceeds",
    re.IGNORECASE,
)
_KEY = re.compile(r"api key (?:not valid|not found|expired)", re.IGNORECASE)
_WAIT = re.compile(r"retry in ([0-9.]+m?s)", re.IGNORECASE)
_BILLING_REASONS = ("BILLING_DISABLED",)
_KEY_REASONS = re.compile(r"API_KEY_\w+|SERVICE_DISABLED|CONSUMER_\w+|ACCESS_TOKEN_\w+")
_FAULT_OF_STATUS = {
    "UNAUTHENTICATED": ModelFault.KEY_REFUSED,
    "PERMISSION_DENIED": ModelFault.KEY_REFUSED,
    # Billing is not enabled, and there is no free tier.
    "FAILED_PRECONDITION": ModelFault.NO_CREDIT,
    "RESOURCE_EXHAUSTED": ModelFault.RATE_LIMITED,
    "NOT_FOUND": ModelFault.NOT_THERE,
    "UNAVAILABLE": ModelFault.UNAVAILABLE,
    "INTERNAL": ModelFault.UNAVAILABLE,
    "UNKNOWN": ModelFault.UNAVAILABLE,
    "DEADLINE_EXCEEDED": ModelFault.UNAVAILABLE,
    "ABORTED": ModelFault.UNAVAILABLE,
    "CANCELLED": ModelFault.UNAVAILABLE,
}
_FAULT_OF_CODE = {
    401: ModelFault.KEY_REFUSED,
    402: ModelFault.NO_CREDIT,
    403: ModelFault.KEY_REFUSED,
    404: ModelFault.NOT_THERE,
    405: ModelFault.NOT_THERE,
    413: ModelFault.TOO_LONG,
    429: ModelFault.RATE_LIMITED,
    499: ModelFault.UNAVAILABLE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class GeminiError:
    """An error as the API writes it. `code` is an HTTP status, 0 if it has none."""

    code: int
    status: str
    message: str
    details: tuple[Mapping[str, Any], ...]

    @property
    def reason(self) -> str:
        """The reason given in the details, or an empty string."""
        return next((str(item["reason"]) for item in self.details if "reason" in item), "")


def read_error(value: object) -> GeminiError | None:
    """Return the error in `value`, if any; in a list, as old streams are, the first entry's."""
    if isinstance(value, list) and value:
        value = value[0]
    error = value.get("error") if isinstance(value, dict) else None
    if not isinstance(error, dict):
        return None
    code, details = error.get("code"), error.get("details")
    found = details if isinstance(details, list) else []
    return GeminiError(
        code=code if isinstance(code, int) else 0,
        status=str(error.get("status") or ""),
        message=str(error.get("message") or ""),
        details=tuple(item for item in found if isinstance(item, dict)),
    )


def fault_of_error(code: int, error: GeminiError | None) -> ModelFault:
    """Return the fault of an answer with the HTTP status `code`, which may be a success."""
    if error:
        if error.reason in _BILLING_REASONS or _NO_CREDIT.search(error.message):
            return ModelFault.NO_CREDIT
        if _KEY_REASONS.fullmatch(error.reason) or _KEY.search(error.message):
            return ModelFault.KEY_REFUSED
        if _TOO_LONG.search(error.message):
            return ModelFault.TOO_LONG
        if error.status in _FAULT_OF_STATUS:
            return _FAULT_OF_STATUS[error.status]
    if code in _FAULT_OF_CODE:
        return _FAULT_OF_CODE[code]
    if code < 400:
        return ModelFault.REJECTED if error else ModelFault.NOT_THERE
    return ModelFault.UNAVAILABLE if code >= 500 else ModelFault.REJECTED


def wait_of_error(error: GeminiError) -> float | None:
    """Return how many seconds the error suggests to wait; None if it does not.

    The value is also used for a daily quota: at worst it is too short.
    """
    advised = next((str(item["retryDelay"]) for item in error.details if "retryDelay" in item), "")
    in_text = _WAIT.search(error.message)
    return _seconds(advised) or (_seconds(in_text[1]) if in_text else None)


def _seconds(text: str) -> float | None:
    unit = 0.001 if text.endswith("ms") else 1.0
    number = number_of(text.removesuffix("s").removesuffix("m"))
    return number * unit if text.endswith("s") and number is not None else None

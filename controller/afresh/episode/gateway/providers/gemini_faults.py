"""What the errors of the Gemini API mean, and how long they advise to wait. Pure.

An error tells more by its status, its reason and its text than by its HTTP status: a wrong key is
a bad request, and an account without credit is a limit of the rate.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from afresh.episode.gateway.model_api import Fault
from afresh.episode.gateway.wire_values import number_of

_NO_CREDIT = re.compile(
    r"credits? (?:are|is) depleted|spending (?:cap|limit)|enable billing|billing is disabled"
    # A quota of nothing: the plan does not include the model.
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
    "UNAUTHENTICATED": Fault.KEY_REFUSED,
    "PERMISSION_DENIED": Fault.KEY_REFUSED,
    "FAILED_PRECONDITION": Fault.NO_CREDIT,  # billing is not enabled where the free tier is not
    "RESOURCE_EXHAUSTED": Fault.RATE_LIMITED,
    "NOT_FOUND": Fault.NOT_THERE,
    "UNAVAILABLE": Fault.UNAVAILABLE,
    "INTERNAL": Fault.UNAVAILABLE,
    "UNKNOWN": Fault.UNAVAILABLE,
    "DEADLINE_EXCEEDED": Fault.UNAVAILABLE,
    "ABORTED": Fault.UNAVAILABLE,
    "CANCELLED": Fault.UNAVAILABLE,
}
_FAULT_OF_CODE = {
    401: Fault.KEY_REFUSED,
    402: Fault.NO_CREDIT,
    403: Fault.KEY_REFUSED,
    404: Fault.NOT_THERE,
    405: Fault.NOT_THERE,
    413: Fault.TOO_LONG,
    429: Fault.RATE_LIMITED,
    499: Fault.UNAVAILABLE,
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
        """The reason that stands in the details."""
        return next((str(item["reason"]) for item in self.details if "reason" in item), "")


def read_error(value: object) -> GeminiError | None:
    """Return the error that `value` is. Of a list, as old streams are, it is the first entry."""
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


def fault_of_error(code: int, error: GeminiError | None) -> Fault:
    """Return the fault of an answer with the HTTP status `code`, which may be no error's at all."""
    if error:
        if error.reason in _BILLING_REASONS or _NO_CREDIT.search(error.message):
            return Fault.NO_CREDIT
        if _KEY_REASONS.fullmatch(error.reason) or _KEY.search(error.message):
            return Fault.KEY_REFUSED
        if _TOO_LONG.search(error.message):
            return Fault.TOO_LONG
        if error.status in _FAULT_OF_STATUS:
            return _FAULT_OF_STATUS[error.status]
    if code in _FAULT_OF_CODE:
        return _FAULT_OF_CODE[code]
    if code < 400:
        return Fault.REJECTED if error else Fault.NOT_THERE
    return Fault.UNAVAILABLE if code >= 500 else Fault.REJECTED


def wait_of_error(error: GeminiError) -> float | None:
    """Return for how many seconds the error advises to wait, if it does.

    Also for the quota of a day: what it advises is early at worst.
    """
    advised = next((str(item["retryDelay"]) for item in error.details if "retryDelay" in item), "")
    in_text = _WAIT.search(error.message)
    return _seconds(advised) or (_seconds(in_text[1]) if in_text else None)


def _seconds(text: str) -> float | None:
    unit = 0.001 if text.endswith("ms") else 1.0
    number = number_of(text.removesuffix("s").removesuffix("m"))
    return number * unit if text.endswith("s") and number is not None else None

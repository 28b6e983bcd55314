"""Classifies why an OpenAI API refused a request or ended an answer, and when to retry.

Owns the API's codes, statuses and notations of a duration. Services with the same API use codes of
their own, or an HTTP status, in the same places.
"""

import json
import re
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import Any

from afresh.episode.gateway.model_api import ModelFault

_FAULT_OF_CODE = {
    "account_deactivated": ModelFault.KEY_REFUSED,
    "authentication_error": ModelFault.KEY_REFUSED,
    "invalid_api_key": ModelFault.KEY_REFUSED,
    "permission_error": ModelFault.KEY_REFUSED,
    "billing_hard_limit_reached": ModelFault.NO_CREDIT,
    "billing_not_active": ModelFault.NO_CREDIT,
    "insufficient_quota": ModelFault.NO_CREDIT,
    "rate_limit_error": ModelFault.RATE_LIMITED,
    "rate_limit_exceeded": ModelFault.RATE_LIMITED,
    "usage_limit_reached": ModelFault.RATE_LIMITED,
    "overloaded_error": ModelFault.UNAVAILABLE,
    "server_error": ModelFault.UNAVAILABLE,
    "server_is_overloaded": ModelFault.UNAVAILABLE,
    "slow_down": ModelFault.UNAVAILABLE,
    "context_length_exceeded": ModelFault.TOO_LONG,
    "model_not_found": ModelFault.NOT_THERE,
}
_FAULT_OF_STATUS = {
    401: ModelFault.KEY_REFUSED,
    402: ModelFault.NO_CREDIT,
    403: ModelFault.KEY_REFUSED,
    404: ModelFault.NOT_THERE,
    405: ModelFault.NOT_THERE,
    408: ModelFault.UNAVAILABLE,
    413: ModelFault.TOO_LONG,
    429: ModelFault.RATE_LIMITED,
}
_NO_CREDIT = re.compile(r"current quota|credit balance|insufficient (credit|balance|funds)")
_TOO_LONG = re.compile(r"context (length|window|limit)|prompt is too long")
# One request exceeds the limit of a minute: waiting does not help, whatever the code says.
_TOO_LARGE = re.compile(r"request too large\b", re.IGNORECASE)
_LIMIT_KINDS = ("requests", "tokens")
_UNIT_SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PART = re.compile(r"(\d{1,12}(?:\.\d{1,12})?)(ms|s|m|h|d)")
_DURATION = re.compile(rf"(?:{_PART.pattern})+")
_NUMBER = re.compile(r"\d{1,12}(\.\d{1,12})?")


def fault_of_refusal(status: int, body: bytes) -> ModelFault:
    """Return why a request was refused, by the code, then by the status, then by the text."""
    text = body.decode(errors="replace")
    error = _error_in(text)
    by_code = fault_of_code(error)
    if by_code:
        return by_code
    text = text.lower()
    if status == 429 and _NO_CREDIT.search(text):
        return ModelFault.NO_CREDIT
    if status in _FAULT_OF_STATUS:
        return _FAULT_OF_STATUS[status]
    if status < 400:
        return ModelFault.NOT_THERE
    if status >= 500:
        return ModelFault.UNAVAILABLE
    return _fault_of_words(text)


def fault_of_event(error: object) -> ModelFault:
    """Return why an answer ended early, by the `error` in its stream."""
    by_code = fault_of_code(error)
    if by_code:
        return by_code
    return _fault_of_words(json.dumps(error).lower())


def fault_of_code(error: object) -> ModelFault | None:
    """Return the fault of an error's code or type; None if both are unknown."""
    if not isinstance(error, dict):
        return None
    if _TOO_LARGE.match(str(error.get("message"))):
        return ModelFault.TOO_LONG
    for code in (error.get("code"), error.get("type")):
        if isinstance(code, str) and code in _FAULT_OF_CODE:
            return _FAULT_OF_CODE[code]
        if isinstance(code, int) and 400 <= code < 600:
            return _FAULT_OF_STATUS.get(code, ModelFault.UNAVAILABLE if code >= 500 else None)
    return None


def reset_time(headers: Mapping[str, str], now: float) -> float | None:
    """Return when to retry, in seconds since the epoch: Retry-After, or the latest reset."""
    wait = headers.get("retry-after-ms", "")
    if _NUMBER.fullmatch(wait):
        return now + float(wait) / 1000
    wait = headers.get("retry-after", "")
    if _NUMBER.fullmatch(wait):
        return now + float(wait)
    date = _date(wait)
    if date:
        return date
    waits = [
        _seconds(headers.get(f"x-ratelimit-reset-{kind}", ""))
        for kind in _LIMIT_KINDS
        if headers.get(f"x-ratelimit-remaining-{kind}") == "0"
    ]
    return max((now + seconds for seconds in waits if seconds is not None), default=None)


def _fault_of_words(text: str) -> ModelFault:
    if _NO_CREDIT.search(text):
        return ModelFault.NO_CREDIT
    return ModelFault.TOO_LONG if _TOO_LONG.search(text) else ModelFault.REJECTED


def _error_in(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return value.get("error") if isinstance(value, dict) else None


def _seconds(text: str) -> float | None:
    """Read a duration such as `6m0s`, `20ms` or `1.5s`; a bare number is seconds."""
    if _NUMBER.fullmatch(text):
        return float(text)
    if not _DURATION.fullmatch(text):
        return None
    return sum(float(count) * _UNIT_SECONDS[unit] for count, unit in _PART.findall(text))


def _date(text: str) -> float | None:
    try:
        return parsedate_to_datetime(text).timestamp()
    except (ValueError, OverflowError):
        return None

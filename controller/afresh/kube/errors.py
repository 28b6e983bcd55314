"""The errors of the API server, one class per case that the loop distinguishes."""

import json


class KubeError(Exception):
    """A request to the API server failed."""


class ConfigurationError(KubeError):
    """There is no usable configuration for an API server."""


class NotFoundError(KubeError):
    """The object does not exist."""


class ConflictError(KubeError):
    """The object already exists, or has changed since it was read."""


class RefusedError(KubeError):
    """The request was refused and must not be repeated: it is invalid, forbidden or over quota."""


class ForbiddenError(RefusedError):
    """The operator's rights do not cover the request, or its namespace does not exist."""


class UnavailableError(KubeError):
    """The API server cannot answer at this time."""


class NotLeaderError(KubeError):
    """Nothing was written, because another operator may be the leader now."""


class UnreadableError(Exception):
    """This version cannot read a stored object; the message names the object and the cause."""


def translated(method: str, path: str, status: int, body: bytes | str | None) -> KubeError:
    """Return the error for an error response of the API server."""
    text = body.decode(errors="replace") if isinstance(body, bytes) else body or ""
    try:
        message = str(json.loads(text).get("message", text))
    except ValueError:
        message = text[:500]
    said = f"{method} {path}: {message}"
    if status == 404:
        return NotFoundError(said)
    if status == 409:
        return ConflictError(said)
    if status in (410, 429) or status >= 500:
        return UnavailableError(said)
    if status == 403:
        return ForbiddenError(message)
    return RefusedError(message)

"""The API server's refusals, as few kinds as the loop tells apart."""


class KubeError(Exception):
    """The API server did not do what was asked."""


class ConfigurationError(KubeError):
    """Nothing tells how to reach an API server, or what tells it cannot be used."""


class NotFoundError(KubeError):
    """The object does not exist."""


class ConflictError(KubeError):
    """The object exists already, or has changed since it was read."""


class RefusedError(KubeError):
    """The request will not be accepted however often it is made: invalid, forbidden, over quota."""


class UnavailableError(KubeError):
    """The API server cannot answer now."""


class NotLeaderError(KubeError):
    """Nothing was written, because another operator may be at work by now."""


class UnreadableError(Exception):
    """A stored object is not of a form that this version can read; the message says what."""

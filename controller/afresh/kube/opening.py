"""Opens a session with the API server.

Owns which of two ways is taken: the standard library's HTTP client, or the Kubernetes client where
a kubeconfig needs more than the first can do.
"""

from afresh.kube.api_session import ApiSession
from afresh.kube.direct_session import TRIES, DirectSession
from afresh.kube.plain_access import find_plain_access


def open_session(
    kubeconfig: str | None, context: str | None, seconds: float, tries: int = TRIES
) -> ApiSession:
    """Connect for at most `seconds`. Raises KubeError and TimeoutError."""
    access = find_plain_access(kubeconfig, context)
    if access:
        return DirectSession(access, seconds, tries)
    from afresh.kube.client_session import ClientSession  # noqa: PLC0415  # slow to import

    return ClientSession(kubeconfig, context, seconds)

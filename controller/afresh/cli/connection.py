"""The connection by which a command follows what changes, or writes.

Imports the Kubernetes client, which takes a while: commands import this when they run.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from afresh.cli.requests import Place
from afresh.cli.session import reported_errors
from afresh.kube.client import Kube


@contextlib.asynccontextmanager
async def connected(place: Place, seconds: float | None) -> AsyncIterator[tuple[Kube, str]]:
    """Give the API server and the namespace for a block that takes at most `seconds`, or any time.

    Raises CommandError for every error of the API server, and of a kubeconfig.
    """
    with reported_errors(seconds):
        async with asyncio.timeout(seconds):
            kube = await Kube.connect(place.kubeconfig, place.context)
            try:
                yield kube, place.namespace or kube.namespace
            finally:
                await kube.close()

"""The connection to the cluster that a command is about, and what is said where there is none.

Imports the Kubernetes client, which takes a while: commands import this when they run.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from afresh.cli.requests import CommandError, Place
from afresh.kube.client import Kube
from afresh.kube.errors import KubeError, UnavailableError, UnreadableError


@contextlib.asynccontextmanager
async def connected(place: Place, seconds: float) -> AsyncIterator[tuple[Kube, str]]:
    """Give the API server and the namespace for a block that takes at most `seconds`.

    Raises CommandError for everything that the API server, or a kubeconfig, has against it.
    """
    try:
        async with asyncio.timeout(seconds):
            kube = await Kube.connect(place.kubeconfig, place.context)
            try:
                yield kube, place.namespace or kube.namespace
            finally:
                await kube.close()
    except TimeoutError:
        raise CommandError(f"The API server gave no answer within {seconds:.0f} seconds.") from None
    except UnavailableError as error:
        raise CommandError(f"The API server cannot be reached: {error}") from error
    except (KubeError, UnreadableError) as error:
        raise CommandError(str(error)) from error

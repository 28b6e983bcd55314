"""The connection to the cluster that a command is about, and what is said where there is none.

Imports the Kubernetes client, which takes a while: commands import this when they run.
"""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from afresh.cli.requests import CommandError, Place
from afresh.kube.client import Kube
from afresh.kube.errors import KubeError, NotFoundError, UnavailableError, UnreadableError


@contextlib.asynccontextmanager
async def connected(place: Place, seconds: float | None) -> AsyncIterator[tuple[Kube, str]]:
    """Give the API server and the namespace for a block that takes at most `seconds`, or any time.

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
        within = "in time" if seconds is None else f"within {seconds:.0f} seconds"
        raise CommandError(f"The API server gave no answer {within}.") from None
    except UnavailableError as error:
        raise CommandError(f"The API server cannot be reached: {error}") from error
    except (KubeError, UnreadableError) as error:
        raise CommandError(str(error)) from error


def missing_package(name: str, namespace: str, error: NotFoundError) -> CommandError:
    """Return what to say where the package, or the whole kind, was not found."""
    if f'"{name}" not found' not in str(error):
        return CommandError("This cluster has no WorkPackages: install Afresh on it.")
    return no_such_package(name, namespace)


def no_such_package(name: str, namespace: str) -> CommandError:
    """Return what to say where there is no package of that name."""
    return CommandError(
        f"There is no WorkPackage {name} in the namespace {namespace};"
        f" see kubectl get wp -n {namespace}."
    )

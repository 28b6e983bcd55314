"""The session in which a command asks the API server, and the errors it can end with.

Owns the sentences for a cluster that cannot be asked.
"""

import contextlib
from collections.abc import Iterator

from afresh.cli.requests import CommandError, Place
from afresh.kube.api_session import ApiSession
from afresh.kube.direct_session import TRIES
from afresh.kube.errors import KubeError, NotFoundError, UnavailableError, UnreadableError
from afresh.kube.opening import open_session


@contextlib.contextmanager
def asking(place: Place, seconds: float, tries: int = TRIES) -> Iterator[tuple[ApiSession, str]]:
    """Give a session and the namespace for a block that takes at most `seconds`.

    A request that gets no answer is made `tries` times. Raises CommandError for every error of the
    API server, and of a kubeconfig.
    """
    with reported_errors(seconds):
        session = open_session(place.kubeconfig, place.context, seconds, tries)
        with contextlib.closing(session):
            yield session, place.namespace or session.namespace


@contextlib.contextmanager
def reported_errors(seconds: float | None) -> Iterator[None]:
    """Turn the errors of a block that takes at most `seconds`, or any time, into CommandError."""
    try:
        yield
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

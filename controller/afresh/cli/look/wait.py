"""Waits for a package and reports how it ended. Imports the Kubernetes client, which takes a while.

Owns when a phase counts: it must be about the package as it now is.
"""

import asyncio
import contextlib
import json
import sys

from afresh.api.work_package import WorkPackage
from afresh.cli.connection import connected
from afresh.cli.look.collection import Collection
from afresh.cli.look.live_lists import Live
from afresh.cli.look.package_view import is_current
from afresh.cli.looks import EXIT_CODES, TIMED_OUT, Awaited, Output, WaitLook
from afresh.cli.plain_values import plain_value
from afresh.cli.printable import plain_line
from afresh.cli.session import missing_package, no_such_package
from afresh.kube.errors import NotFoundError
from afresh.kube.models import parse
from afresh.kube.resources import WORK_PACKAGES

# A class or a Secret that is applied along with its package may come a moment after it.
PASSING_SECONDS = 5.0
# So long the first look may take, however short the time to wait is: 0 s is to look once.
LOOK_SECONDS = 10.0
PASSING = frozenset({Awaited.STALLED, Awaited.SUSPENDED})


def wait(look: WaitLook) -> int:
    """Wait, print how the package ended, and return the exit code. Raises CommandError."""
    return asyncio.run(_wait(look))


async def _wait(look: WaitLook) -> int:
    name, deadline = look.target.package, _deadline(look)
    async with connected(look.target, None) as (kube, namespace), contextlib.AsyncExitStack() as on:
        collection = Collection(WORK_PACKAGES, namespace, f"metadata.name={name}")
        try:
            async with asyncio.timeout_at(_first_look(deadline)):
                live = await on.enter_async_context(Live(kube, [collection]))
            if not live.objects(collection) and look.awaited is not Awaited.DELETED:
                raise no_such_package(name, namespace)
            return await outcome(look, live, collection, deadline)
        except TimeoutError:
            print("The API server has not answered.", file=sys.stderr)
            return TIMED_OUT
        except NotFoundError as error:
            raise missing_package(name, namespace, error) from error


def _deadline(look: WaitLook) -> float | None:
    """When the time is over, by the event loop's clock."""
    return None if look.seconds is None else asyncio.get_running_loop().time() + look.seconds


def _first_look(deadline: float | None) -> float | None:
    soon = asyncio.get_running_loop().time() + LOOK_SECONDS
    return None if deadline is None else max(deadline, soon)


async def outcome(
    look: WaitLook, live: Live, collection: Collection, deadline: float | None
) -> int:
    """Wait for the one package of the collection, print how it ended, and return the exit code."""
    try:
        async with asyncio.timeout_at(deadline):
            state = await _end(look, live, collection)
    except TimeoutError:
        _say(look, _package(live, collection), collection.namespace, timed_out=True)
        return TIMED_OUT
    _say(look, _package(live, collection), collection.namespace)
    return 0 if state is look.awaited else EXIT_CODES[state]


async def _end(look: WaitLook, live: Live, collection: Collection) -> Awaited:
    """Return the phase once it is the awaited one, or no longer changes by itself."""
    while True:
        state = _state(_package(live, collection))
        ends = state is look.awaited or (
            look.awaited is not Awaited.DELETED and state in EXIT_CODES
        )
        passing = state in PASSING and state is not look.awaited
        if state and ends and not passing:
            return state
        # A stall that passes by itself is none.
        if not await live.changed(PASSING_SECONDS if passing and ends else None) and state:
            return state


def _package(live: Live, collection: Collection) -> WorkPackage | None:
    found = live.objects(collection)
    return parse(WorkPackage, found[0]) if found else None


def _state(package: WorkPackage | None) -> Awaited | None:
    """The phase of the package; None while the operator has not set one for the last edit."""
    if package is None:
        return Awaited.DELETED
    phase = package.status.phase
    return Awaited(phase) if phase and is_current(package) else None


def _say(
    look: WaitLook, package: WorkPackage | None, namespace: str | None, *, timed_out: bool = False
) -> None:
    name = look.target.package
    if package is None:
        facts = {"namespace": namespace, "name": name, "phase": str(Awaited.DELETED)}
        facts |= dict.fromkeys(("reason", "message", "progress"), "")
        facts["costUSD"] = None
        said = f"{name} is gone."
    else:
        status = package.status
        facts = {
            "namespace": namespace,
            "name": name,
            "phase": str(status.phase or "Pending"),
            "reason": plain_line(status.reason),
            "message": plain_line(status.message),
            "progress": status.progress,
            "costUSD": plain_value(status.usage.cost_usd),
        }
        still = "is still" if timed_out else "is"
        done = f", {status.progress} done" if status.progress else ""
        message = f": {facts['message']}" if facts["message"] else "."
        said = f"{name} {still} {facts['phase']}{done}{message}"
    if look.output is Output.JSON:
        said = json.dumps({**facts, "timedOut": timed_out}, indent=2)
    print(said)

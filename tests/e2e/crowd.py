"""Many packages that meet one cause: what they say, and what they cost the API server.

Owns the count of the operator's requests in one namespace, from the audit log.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.apiserver.audit import Entry, entries_of
from tests.e2e.team import Team, message_of


@dataclass(frozen=True)
class Asked:
    """How often it asked: Jobs made, Events written and listed, statuses of packages written."""

    jobs: int
    events: int
    event_lists: int
    statuses: int


def statuses_of(team: Team, packages: Iterable[str]) -> set[tuple[str, str, str]]:
    """Return phase, reason and message of each package; empty strings if it has no status yet."""
    found = [team.status(name) for name in packages]
    return {
        (status["phase"], status["reason"], message_of(status))
        if "conditions" in status
        else ("", "", "")
        for status in found
    }


def reasons_of(team: Team, packages: Iterable[str]) -> set[tuple[str, str]]:
    """Return phase and reason of each package; empty strings if it has no status yet."""
    return {(phase, reason) for phase, reason, _ in statuses_of(team, packages)}


def asked(team: Team) -> Asked:
    """Return what it asked for in the team's namespace; LISTs in all namespaces count as well."""
    kubeconfig = Path(team.cluster.run("printenv", "KUBECONFIG").stdout.strip())
    entries = entries_of(kubeconfig.parent / "audit.log")
    mine = [entry for entry in entries if entry.namespace == team.namespace]
    lists = [entry for entry in entries if entry.namespace in ("", team.namespace)]
    return Asked(
        jobs=_number(mine, "jobs", "create"),
        events=_number(mine, "events", "create", "update", "patch"),
        event_lists=_number(lists, "events", "list"),
        statuses=_number(mine, "workpackages/status", "update", "patch"),
    )


def _number(entries: list[Entry], resource: str, *verbs: str) -> int:
    found = (entry.use for entry in entries if entry.code < 300)
    return sum(use.resource == resource and use.verb in verbs for use in found)

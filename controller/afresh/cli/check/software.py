"""Checks of the cluster's version, the CRDs and the operator."""

import re
from collections.abc import Iterator
from typing import Any

from afresh import __version__
from afresh.api.crd import KINDS, build_crd
from afresh.cli.check.findings import CheckFinding, CheckLevel
from afresh.cli.installation import CRD_NAMES, InstalledCrd, InstalledOperator, Reading
from afresh.cli.printable import plain_line
from afresh.kube.api_request import ApiRequest
from afresh.kube.api_session import ApiSession
from afresh.kube.errors import NotFoundError, RefusedError
from afresh.kube.resources import AGENT_CLASSES, CRDS, Manifest

OLDEST = (1, 31)
"""The oldest Kubernetes that Afresh supports, as the charts say it."""
APPLY_CRDS = "afresh crds | kubectl apply --server-side -f -"


def kubernetes(session: ApiSession) -> Iterator[CheckFinding]:
    """Yield whether the cluster is new enough."""
    name = str(session.ask(ApiRequest(path="/version"))["gitVersion"])
    found = re.match(r"v?(\d+)\.(\d+)", name)
    oldest = ".".join(map(str, OLDEST))
    if found is None:
        level, said = (
            CheckLevel.UNKNOWN,
            f"The cluster reports {plain_line(name)}, which is not a version of Kubernetes.",
        )
    elif tuple(map(int, found.groups())) < OLDEST:
        level = CheckLevel.FAIL
        said = f"The cluster has Kubernetes {plain_line(name)}: upgrade it to {oldest} or newer."
    else:
        level, said = CheckLevel.PASS, f"The cluster has Kubernetes {plain_line(name)}."
    yield CheckFinding(check="kubernetes", level=level, message=said)


def crds(session: ApiSession, reading: Reading[InstalledCrd]) -> Iterator[CheckFinding]:
    """Yield whether the CRDs are installed, served and of this version."""
    level, said = _served(session) if reading.refused else _crds(reading.items)
    yield CheckFinding(check="crds", level=level, message=said)


def _served(session: ApiSession) -> tuple[CheckLevel, str]:
    try:
        session.ask(ApiRequest(path=AGENT_CLASSES.path().rpartition("/")[0]))
    except NotFoundError:
        return CheckLevel.FAIL, f"The CRDs are not installed: apply them with {APPLY_CRDS}"
    except RefusedError:
        return CheckLevel.UNKNOWN, "You may not read the CRDs: ask an administrator of the cluster."
    return CheckLevel.UNKNOWN, "The CRDs are installed, but you may not read their version."


def _crds(found: tuple[InstalledCrd, ...]) -> tuple[CheckLevel, str]:
    missing = set(CRD_NAMES) - {item.name for item in found}
    if missing:
        names = ", ".join(sorted(missing))
        return CheckLevel.FAIL, f"CRDs are missing ({names}): apply them with {APPLY_CRDS}"
    if not all(item.established for item in found):
        return CheckLevel.FAIL, (
            "The API server does not serve every CRD: run kubectl describe crd to see why."
        )
    wanted = {str(crd["metadata"]["name"]): crd for crd in map(build_crd, KINDS)}
    different = [i.name for i in found if not _includes(i.manifest["spec"], wanted[i.name]["spec"])]
    if different:
        names = ", ".join(sorted(different))
        return CheckLevel.WARN, (
            f"CRDs differ from those of version {__version__} ({names}): apply them with"
            f" {APPLY_CRDS}, or use the command of the operator's version."
        )
    return CheckLevel.PASS, f"The CRDs are those of version {__version__}."


def _includes(stored: Any, wanted: Any) -> bool:
    """Whether an object as stored has all that was applied; the API server adds defaults."""
    if isinstance(wanted, dict):
        return isinstance(stored, dict) and all(
            key in stored and _includes(stored[key], item) for key, item in wanted.items()
        )
    if isinstance(wanted, list):
        return (
            isinstance(stored, list)
            and len(stored) == len(wanted)
            and all(map(_includes, stored, wanted))
        )
    return bool(stored == wanted)


def operator(reading: Reading[InstalledOperator]) -> Iterator[CheckFinding]:
    """Yield for each operator whether it is ready and of this version."""
    if reading.refused:
        said = "You may not list the Deployments of the cluster, so the operator was not checked."
        yield CheckFinding(check="operator", level=CheckLevel.UNKNOWN, message=said)
    elif not reading.items:
        said = "There is no operator on this cluster: have the chart afresh installed."
        yield CheckFinding(check="operator", level=CheckLevel.FAIL, message=said)
    for item in reading.items:
        level, said = _operator(item)
        yield CheckFinding(check="operator", level=level, message=said)


def served(reading: Reading[InstalledOperator], namespace: str) -> Iterator[CheckFinding]:
    """Yield whether an operator serves the namespace, if there is one."""
    if not reading.items:
        return
    level, said = CheckLevel.PASS, f"An operator serves the namespace {namespace}."
    if not any(item.serves(namespace) for item in reading.items):
        level = CheckLevel.FAIL
        said = f"No operator serves {namespace}: add it to the value namespaces of the chart."
    yield CheckFinding(check="namespace", level=level, message=said)


def _operator(item: InstalledOperator) -> tuple[CheckLevel, str]:
    ready, wanted = item.replicas
    see = f"see kubectl describe deployment -n {item.name.replace('/', ' ')}."
    if not ready:
        return CheckLevel.FAIL, f"No pod of the operator {item.name} is ready: {see}"
    if ready < wanted:
        return CheckLevel.WARN, f"Not every pod of the operator {item.name} is ready: {see}"
    if item.version and item.version != __version__:
        return CheckLevel.WARN, (
            f"The operator {item.name} has version {item.version}, and this command has version"
            f" {__version__}: use the command of the operator's version."
        )
    version = f", version {item.version}" if item.version else ""
    return CheckLevel.PASS, f"The operator {item.name} is ready{version}."


def not_installed(
    session: ApiSession, operators: Reading[InstalledOperator], reading: Reading[InstalledCrd]
) -> Iterator[CheckFinding]:
    """Yield whether Afresh is installed already, and whether other kinds use its short names."""
    for item in operators.items:
        yield CheckFinding(
            check="installed",
            level=CheckLevel.WARN,
            message=f"There is an operator {item.name} already: upgrade it instead.",
        )
    level, said = _older_crds(reading)
    yield CheckFinding(check="crds", level=level, message=said)
    level, said = _names_taken(session)
    yield CheckFinding(check="names", level=level, message=said)


def _older_crds(reading: Reading[InstalledCrd]) -> tuple[CheckLevel, str]:
    if reading.refused:
        return (
            CheckLevel.UNKNOWN,
            "You may not read CRDs, so it is unknown whether those of Afresh are installed.",
        )
    if not reading.items:
        return CheckLevel.PASS, "The cluster has no CRDs of Afresh yet."
    level, said = _crds(reading.items)
    if level is CheckLevel.PASS:
        return (
            CheckLevel.WARN,
            "This version's CRDs are installed already: leave them as they are.",
        )
    return CheckLevel.WARN, said


def _names_taken(session: ApiSession) -> tuple[CheckLevel, str]:
    try:
        found = session.list_items(CRDS, None)
    except RefusedError:
        said = "You may not list CRDs, so it is unknown which short names are in use."
        return CheckLevel.UNKNOWN, said
    names = {name for kind in KINDS for name in build_crd(kind)["spec"]["names"]["shortNames"]}
    taken = sorted(
        str(item["metadata"]["name"])
        for item in found
        if item["metadata"]["name"] not in CRD_NAMES and names & _short_names(item)
    )
    if taken:
        return CheckLevel.WARN, (
            f"{', '.join(taken)} uses a short name of Afresh: with kubectl, write workpackages,"
            " subtasks and agentclasses in full."
        )
    return CheckLevel.PASS, "No other kind uses a short name of Afresh."


def _short_names(crd: Manifest) -> set[str]:
    return set(crd["spec"]["names"].get("shortNames", ()))

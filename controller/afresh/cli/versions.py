"""The versions of the operator, the CRDs and the cluster.

Owns the texts for a version that cannot be read.
"""

from collections.abc import Sequence

from afresh.cli.installation import (
    InstalledCrd,
    InstalledOperator,
    Reading,
    read_crds,
    read_operators,
)
from afresh.cli.requests import CommandError, Place
from afresh.cli.session import asking
from afresh.kube.api_request import ApiRequest

# The command's own version is worth more than a long wait for the cluster's.
SECONDS = 5


def read_versions(place: Place) -> tuple[dict[str, str], str]:
    """Return the versions by name, or none and a sentence that says why."""
    try:
        with asking(place, SECONDS, tries=1) as (session, _):
            server = session.ask(ApiRequest(path="/version"))
            operators, crds = read_operators(session), read_crds(session)
    except CommandError as error:
        return {}, str(error)
    return {
        "operator": _joined(operators, operators.items),
        "crds": _joined(crds, crds.items),
        "kubernetes": str(server["gitVersion"]),
    }, ""


def _joined(
    reading: Reading[InstalledOperator] | Reading[InstalledCrd],
    items: Sequence[InstalledOperator | InstalledCrd],
) -> str:
    if reading.refused:
        return "(you may not read it)"
    if not items:
        return "(not installed)"
    return ", ".join(sorted({item.version or "(no version label)" for item in items}))

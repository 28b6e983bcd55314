"""Checks whether the cluster enforces NetworkPolicies, judging by its network add-on.

No API reports it: only some add-ons are known to enforce them, so the answer may be `unknown`.
"""

from collections.abc import Iterator

from afresh.cli.check.findings import CheckFinding, CheckLevel
from afresh.kube.api_session import ApiSession
from afresh.kube.errors import RefusedError
from afresh.kube.resources import DAEMON_SETS

ENFORCERS = {
    "anetd": "GKE Dataplane V2", "antrea-agent": "Antrea", "azure-npm": "Azure NPM",
    "calico-node": "Calico", "canal": "Canal", "cilium": "Cilium", "kube-router": "kube-router",
    "ovnkube-node": "OVN-Kubernetes", "rke2-canal": "Canal", "sdn": "OpenShift SDN",
    "weave-net": "Weave Net",
}  # fmt: skip
NOT_ENFORCING = {"kube-flannel": "Flannel", "kube-flannel-ds": "Flannel"}
TRY_IT = (
    "apply a policy that denies all egress in a namespace of its own, and try a connection from a"
    " pod there."
)


def enforcement(session: ApiSession) -> Iterator[CheckFinding]:
    """Yield whether an add-on that is known to enforce NetworkPolicies runs."""
    try:
        found = {str(item["metadata"]["name"]) for item in session.list_items(DAEMON_SETS, None)}
    except RefusedError:
        level, said = (
            CheckLevel.UNKNOWN,
            (
                "You may not list DaemonSets, so the network add-on is unknown: ask an"
                " administrator whether it enforces NetworkPolicies."
            ),
        )
    else:
        level, said = _enforcement(found)
    yield CheckFinding(check="network policies", level=level, message=said)


def _enforcement(daemon_sets: set[str]) -> tuple[CheckLevel, str]:
    enforcers = sorted({ENFORCERS[name] for name in daemon_sets & ENFORCERS.keys()})
    if enforcers:
        return CheckLevel.PASS, f"{', '.join(enforcers)} enforces NetworkPolicies."
    others = sorted({NOT_ENFORCING[name] for name in daemon_sets & NOT_ENFORCING.keys()})
    if others:
        return CheckLevel.WARN, (
            f"{', '.join(others)} does not enforce NetworkPolicies: agents can reach the whole"
            " network; add one that does."
        )
    return CheckLevel.UNKNOWN, f"No known network add-on was found: {TRY_IT}"

"""Builds NetworkPolicies: one for all episodes of a namespace, and one for each class there.

NetworkPolicies are additive: the policy of the namespace denies all traffic except what every
episode needs, and the policy of a class additionally allows its `spec.egress`. Only a network
plugin that supports policies enforces them.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Address, IPv6Network
from typing import Any

from afresh.api.agent_class import AgentClass
from afresh.contract.pod_layout import LABEL_AGENT_CLASS, LABEL_MANAGED_BY, MANAGED_BY

NAMESPACE_POLICY = "afresh-episodes"
OPERATOR_LABELS = {
    "app.kubernetes.io/name": "afresh",
    "app.kubernetes.io/component": "operator",
}
NAMESPACE_NAME = "kubernetes.io/metadata.name"
DNS_PODS = {
    "namespaceSelector": {"matchLabels": {NAMESPACE_NAME: "kube-system"}},
    "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}},
}
# NodeLocal DNSCache listens on every node at this address.
DNS_ON_NODE = {"ipBlock": {"cidr": "169.254.20.10/32"}}
GIT_AND_MODELS = (443, 22)
NOT_PUBLIC = (
    "0.0.0.0/8",
    "10.0.0.0/8",
    "100.64.0.0/10",
    "127.0.0.0/8",
    "169.254.0.0/16",
    "172.16.0.0/12",
    "192.168.0.0/16",
    "198.18.0.0/15",
    "224.0.0.0/3",
)
NOT_PUBLIC_IPV6 = ("::/96", "64:ff9b:1::/48", "fc00::/7", "fe80::/10", "ff00::/8")
NAT64 = int(IPv6Address("64:ff9b::"))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportPeer:
    """Where the operator's pod accepts Reports: its namespace, and the port of the container."""

    namespace: str
    port: int


def build_namespace_policy(namespace: str, reports: ReportPeer | None) -> dict[str, Any]:
    """Return the policy of every episode in `namespace`.

    It allows DNS, Reports to the operator if `reports` is given, and public addresses on the ports
    of git and model APIs. It denies all other traffic, in both directions.
    """
    egress = [
        _allow([DNS_PODS, DNS_ON_NODE], [("UDP", 53), ("TCP", 53)]),
        _allow(_public(), [("TCP", port) for port in GIT_AND_MODELS]),
    ]
    if reports:
        operator = {
            "namespaceSelector": {"matchLabels": {NAMESPACE_NAME: reports.namespace}},
            "podSelector": {"matchLabels": OPERATOR_LABELS},
        }
        egress.append(_allow([operator], [("TCP", reports.port)]))
    return _policy(
        NAMESPACE_POLICY,
        namespace,
        {
            "podSelector": {"matchLabels": {LABEL_MANAGED_BY: MANAGED_BY}},
            "policyTypes": ["Ingress", "Egress"],
            "egress": egress,
        },
    )


def build_class_policy(namespace: str, agent_class: AgentClass) -> dict[str, Any]:
    """Return the policy with the additional destinations of the class's episodes in `namespace`."""
    name = agent_class.metadata.name
    egress = [rule.to_manifest() for rule in agent_class.spec.egress]
    return _policy(
        class_policy_name(name),
        namespace,
        {
            "podSelector": {"matchLabels": {LABEL_MANAGED_BY: MANAGED_BY, LABEL_AGENT_CLASS: name}},
            "policyTypes": ["Egress"],
            "egress": egress,
        },
    )


def class_policy_name(agent_class: str) -> str:
    """Return the name of the policy of a class."""
    return f"afresh-class-{agent_class}"


def is_as_built(stored: dict[str, Any], built: dict[str, Any]) -> bool:
    """Return whether the spec of a policy in the cluster equals that of the policy built here."""
    return bool(stored.get("spec") == built["spec"])


def _policy(name: str, namespace: str, spec: dict[str, Any]) -> dict[str, Any]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": {LABEL_MANAGED_BY: MANAGED_BY},
        },
        "spec": _as_stored(spec),
    }


def _allow(peers: Iterable[dict[str, Any]], ports: Iterable[tuple[str, int]]) -> dict[str, Any]:
    return {
        "to": list(peers),
        "ports": [{"protocol": protocol, "port": port} for protocol, port in ports],
    }


def _public() -> list[dict[str, Any]]:
    """Return peers for all public addresses.

    Private IPv4 addresses are excluded in their NAT64 form as well.
    """
    mapped = [
        str(IPv6Network((NAT64 + int(network.network_address), 96 + network.prefixlen)))
        for network in map(IPv4Network, NOT_PUBLIC)
    ]
    return [
        {"ipBlock": {"cidr": "0.0.0.0/0", "except": list(NOT_PUBLIC)}},
        {"ipBlock": {"cidr": "::/0", "except": [*NOT_PUBLIC_IPV6, *mapped]}},
    ]


def _as_stored(value: Any) -> Any:
    """Return the value without the empty fields that the API server drops when it stores it."""
    if isinstance(value, list):
        return [_as_stored(item) for item in value]
    if not isinstance(value, dict):
        return value
    return {
        key: _as_stored(item)
        for key, item in value.items()
        if item != [] and (key, item) != ("matchLabels", {})
    }

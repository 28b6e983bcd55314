"""Egress rules: the destinations that pods may reach, as in a NetworkPolicy.

This module does not know any kind. Ports are numbers, because destinations outside the namespace
have no named ports.
"""

from typing import Annotated, Literal

from pydantic import Field, StrictInt

from afresh.api.meta import ApiModel
from afresh.api.rules import Matching, Rule

LabelKey = Annotated[str, Field(min_length=1, max_length=317)]
LabelValue = Annotated[str, Field(max_length=63)]
Cidr = Annotated[
    str,
    Field(max_length=64),
    Matching(
        r"^[0-9A-Fa-f.:]+/[0-9]{1,3}$",
        "ipBlock needs an address range in CIDR notation, such as 10.1.2.0/24",
    ),
]
Port = Annotated[StrictInt, Field(ge=1, le=65535)]


class LabelRequirement(ApiModel):
    """A condition on one label."""

    key: LabelKey
    """The key of the label."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """How the label is compared with the values."""
    values: tuple[LabelValue, ...] = Field(default=(), max_length=16)
    """The values, for In and NotIn."""


class LabelSelector(ApiModel):
    """Labels that an object must have; an empty selector selects every object."""

    match_labels: dict[str, LabelValue] = Field(default_factory=dict, max_length=16)
    """Labels that an object must have with exactly these values."""
    match_expressions: tuple[LabelRequirement, ...] = Field(default=(), max_length=16)
    """Further conditions on labels; all must be met."""


class IpBlock(ApiModel):
    """A range of IP addresses."""

    cidr: Cidr
    """The range, such as 10.1.2.0/24."""
    except_: tuple[Cidr, ...] = Field(default=(), max_length=32, alias="except")
    """Ranges within `cidr` that are excluded."""


def _one_kind(peer: "EgressPeer") -> bool:
    return bool(peer.ip_block) != bool(peer.pod_selector or peer.namespace_selector)


class EgressPeer(ApiModel):
    """A destination of a rule: pods, or IP addresses outside the cluster."""

    RULES = (
        Rule(
            cel="has(self.ipBlock) != (has(self.podSelector) || has(self.namespaceSelector))",
            message="a peer in spec.egress needs either ipBlock, or one or both of podSelector and"
            " namespaceSelector",
            holds=_one_kind,
        ),
    )

    ip_block: IpBlock | None = None
    """A range of IP addresses."""
    namespace_selector: LabelSelector | None = None
    """Pods in the namespaces with these labels; absent: pods in the package's namespace."""
    pod_selector: LabelSelector | None = None
    """Pods with these labels; absent: all pods in the namespaces."""


class EgressPort(ApiModel):
    """A port, or a range of ports."""

    protocol: Literal["TCP", "UDP", "SCTP"] = "TCP"
    """The transport protocol."""
    port: Port | None = None
    """The port of the pod, which can differ from the port of its Service; absent: all ports."""
    end_port: Port | None = None
    """The last port of the range that begins with `port`."""


class EgressRule(ApiModel):
    """Outgoing traffic that is allowed: to any of the peers, on any of the ports."""

    RULES = (
        Rule(
            cel="(has(self.to) && size(self.to) > 0) || (has(self.ports) && size(self.ports) > 0)",
            message="an entry of spec.egress needs 'to' or 'ports': an empty entry would allow all"
            " traffic",
            holds=lambda rule: bool(rule.to or rule.ports),
        ),
    )

    to: tuple[EgressPeer, ...] = Field(default=(), max_length=16)
    """The destinations; empty: all destinations."""
    ports: tuple[EgressPort, ...] = Field(default=(), max_length=16)
    """The ports; empty: all ports."""

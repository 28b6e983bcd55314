"""What pods may reach: egress rules, as a NetworkPolicy has them.

Knows no kind. Ports are numbers: what an agent reaches outside its namespace has no named ones.
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
        "ipBlock needs addresses with the length of their prefix, such as 10.1.2.0/24",
    ),
]
Port = Annotated[StrictInt, Field(ge=1, le=65535)]


class LabelRequirement(ApiModel):
    """A condition on one label."""

    key: LabelKey
    """The label."""
    operator: Literal["In", "NotIn", "Exists", "DoesNotExist"]
    """How it is compared with the values."""
    values: tuple[LabelValue, ...] = Field(default=(), max_length=16)
    """The values, for In and NotIn."""


class LabelSelector(ApiModel):
    """Labels that an object must have; an empty selector selects every object."""

    match_labels: dict[str, LabelValue] = Field(default_factory=dict, max_length=16)
    """Labels and their values."""
    match_expressions: tuple[LabelRequirement, ...] = Field(default=(), max_length=16)
    """Further conditions."""


class IpBlock(ApiModel):
    """A range of addresses."""

    cidr: Cidr
    """The range, such as 10.1.2.0/24."""
    except_: tuple[Cidr, ...] = Field(default=(), max_length=32, alias="except")
    """Ranges within it that are left out."""


def _one_kind(peer: "EgressPeer") -> bool:
    return bool(peer.ip_block) != bool(peer.pod_selector or peer.namespace_selector)


class EgressPeer(ApiModel):
    """Whom a rule is about: pods, or addresses outside the cluster."""

    RULES = (
        Rule(
            cel="has(self.ipBlock) != (has(self.podSelector) || has(self.namespaceSelector))",
            message="a peer in spec.egress needs either ipBlock, or podSelector or"
            " namespaceSelector",
            holds=_one_kind,
        ),
    )

    ip_block: IpBlock | None = None
    """Addresses."""
    namespace_selector: LabelSelector | None = None
    """Pods in these namespaces; absent: in the package's own."""
    pod_selector: LabelSelector | None = None
    """Pods with these labels; absent: all of the namespaces."""


class EgressPort(ApiModel):
    """A port, or a range of them."""

    protocol: Literal["TCP", "UDP", "SCTP"] = "TCP"
    """The protocol."""
    port: Port | None = None
    """The port, of the pod and not of its Service; absent: all."""
    end_port: Port | None = None
    """The last port of a range that begins with `port`."""


class EgressRule(ApiModel):
    """Traffic that is let out: to any of the peers, on any of the ports."""

    RULES = (
        Rule(
            cel="(has(self.to) && size(self.to) > 0) || (has(self.ports) && size(self.ports) > 0)",
            message="an entry of spec.egress needs to or ports: an empty one would let out"
            " everything",
            holds=lambda rule: bool(rule.to or rule.ports),
        ),
    )

    to: tuple[EgressPeer, ...] = Field(default=(), max_length=16)
    """The peers; empty: everybody."""
    ports: tuple[EgressPort, ...] = Field(default=(), max_length=16)
    """The ports; empty: all."""

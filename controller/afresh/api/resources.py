"""Amounts: resource quantities, money and token usage. This module does not know any kind."""

import re
from decimal import Decimal
from typing import Annotated, Protocol

from pydantic import BeforeValidator, Field, PlainSerializer, StrictInt, WithJsonSchema

from afresh.api.meta import ApiModel
from afresh.api.rules import Rule

QUANTITY_PATTERN = r"^[0-9]+([.][0-9]+)?(m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?$"
MONEY_PATTERN = r"^[0-9]{1,9}([.][0-9]{1,6})?$"

_FACTORS = {
    "": Decimal(1),
    "m": Decimal("0.001"),
    **{unit: Decimal(1000) ** power for power, unit in enumerate("kMGTPE", 1)},
    **{f"{unit}i": Decimal(1024) ** power for power, unit in enumerate("KMGTPE", 1)},
}


def quantity_value(quantity: str) -> Decimal:
    """Return the value of a Kubernetes quantity: cores, or bytes.

    Raises ValueError for a text that is not a quantity or is negative.
    """
    if not re.fullmatch(QUANTITY_PATTERN[1:-1], quantity):
        raise ValueError(f"{quantity!r} is not a quantity, such as 500m, 2 or 4Gi")
    number = quantity.rstrip("mkKMGTPEi")
    return Decimal(number) * _FACTORS[quantity[len(number) :]]


def _quantity(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if isinstance(value, str):
        quantity_value(value)
    return value


def _money(value: object) -> object:
    if isinstance(value, Decimal) and value >= 0:
        return round(value, 6).normalize()
    if not isinstance(value, str) or not re.fullmatch(MONEY_PATTERN[1:-1], value):
        raise ValueError('must be an amount in US dollars, in quotes, such as "5.00"')
    return Decimal(value)


Quantity = Annotated[
    str,
    BeforeValidator(_quantity),
    WithJsonSchema(
        {
            "x-kubernetes-int-or-string": True,
            "minimum": 0,
            "maxLength": 20,
            "pattern": QUANTITY_PATTERN,
        }
    ),
]
"""A Kubernetes quantity as text: `500m`, `2`, `4Gi`. Never negative."""

Money = Annotated[
    Decimal,
    BeforeValidator(_money),
    PlainSerializer(lambda amount: f"{amount:f}", return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "maxLength": 16, "pattern": MONEY_PATTERN}),
]
"""US dollars to a millionth; a decimal string in YAML. Never negative."""

Count = Annotated[StrictInt, Field(ge=0)]
"""A non-negative integer."""


class ResourceList(ApiModel):
    """Amounts of CPU, memory and disk."""

    cpu: Quantity | None = None
    """Cores, such as 500m or 2."""
    memory: Quantity | None = None
    """Bytes, such as 4Gi."""
    ephemeral_storage: Quantity | None = Field(default=None, alias="ephemeral-storage")
    """Bytes of disk, such as 10Gi. Where this is a limit, the agent is stopped before its worktree
    and HOME together reach it."""


class Requirements(Protocol):
    """Requests and limits of a class or of a package."""

    @property
    def requests(self) -> ResourceList | None:
        """Resources that the scheduler reserves."""

    @property
    def limits(self) -> ResourceList | None:
        """The most that may be used."""


def _within_limits(name: str) -> Rule:
    """Return the rule that the request of a resource must not exceed its limit.

    Kubernetes rejects a pod that breaks this rule.
    """
    attribute, field = name.replace("-", "_"), name.replace("-", "__dash__")
    request, limit = f"self.requests.{field}", f"self.limits.{field}"

    def holds(resources: Requirements) -> bool:
        request = getattr(resources.requests, attribute, None)
        limit = getattr(resources.limits, attribute, None)
        return request is None or limit is None or quantity_value(request) <= quantity_value(limit)

    return Rule(
        cel=(
            f"!has(self.requests) || !has({request}) || !has(self.limits) || !has({limit})"
            f" || quantity(string({request})).compareTo(quantity(string({limit}))) <= 0"
        ),
        message=f"requests.{name} exceeds limits.{name}: lower the request or raise the limit",
        holds=holds,
    )


REQUESTS_WITHIN_LIMITS = tuple(
    _within_limits(name) for name in ("cpu", "memory", "ephemeral-storage")
)


class ResourceRequirements(ApiModel):
    """Resources that a package sets in place of its class's; where one is absent, the class's."""

    RULES = REQUESTS_WITHIN_LIMITS

    requests: ResourceList | None = None
    """Resources that the scheduler reserves."""
    limits: ResourceList | None = None
    """The most that the agent may use."""


class TokenUsage(ApiModel):
    """Tokens that models used, and their cost."""

    input_tokens: Count = 0
    """Tokens sent, not counting tokens read from or written to the cache."""
    output_tokens: Count = 0
    """Tokens received."""
    cache_read_tokens: Count = 0
    """Tokens read from the provider's cache."""
    cache_write_tokens: Count = 0
    """Tokens written to the provider's cache."""
    cost_usd: Money | None = None
    """Cost in US dollars by the class's pricing; absent without a price."""

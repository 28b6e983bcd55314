"""Adds up what answers of the model have counted, and what that costs.

Knows no limit. Costs are decimal: they are money.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fnmatch import fnmatchcase

from afresh.contract.order import Price
from afresh.contract.report import Usage
from afresh.episode.model_api import Answer, Tokens

PER_MILLION = Decimal(1_000_000)


@dataclass(slots=True, kw_only=True)
class Tally:
    """A sum of answers. `cost` leaves out what has no price."""

    turns: int = 0
    tokens: Tokens = field(default_factory=Tokens)
    cost: Decimal = Decimal(0)
    has_unpriced: bool = False

    def count(self, answer: Answer, pricing: Sequence[Price]) -> None:
        """Add an answer."""
        self.turns += 1
        self.tokens.add(answer.tokens)
        cost = cost_of(answer, pricing)
        if cost is None:
            self.has_unpriced = True
        else:
            self.cost += cost

    def plus(self, other: "Tally") -> "Tally":
        """Return the sum of both."""
        tokens = Tokens()
        tokens.add(self.tokens)
        tokens.add(other.tokens)
        return Tally(
            turns=self.turns + other.turns,
            tokens=tokens,
            cost=self.cost + other.cost,
            has_unpriced=self.has_unpriced or other.has_unpriced,
        )

    def usage(self, *, priced: bool) -> Usage:
        """Return it as the Report has it, with a cost if there are prices and none is missing."""
        known = priced and not self.has_unpriced
        return Usage(
            turns=self.turns,
            input_tokens=self.tokens.input,
            output_tokens=self.tokens.output,
            cache_read_tokens=self.tokens.cache_read,
            cache_write_tokens=self.tokens.cache_write,
            cost_usd=f"{self.cost.normalize():f}" if known else None,
        )


def cost_of(answer: Answer, pricing: Sequence[Price]) -> Decimal | None:
    """Return the cost of an answer in US dollars by the first price that matches its model."""
    price = next((item for item in pricing if fnmatchcase(answer.model, item.model)), None)
    if price is None:
        return None
    tokens = answer.tokens
    return (
        tokens.input * Decimal(price.input_usd_per_million)
        + tokens.output * Decimal(price.output_usd_per_million)
        + tokens.cache_read * Decimal(price.cache_read_usd_per_million)
        + tokens.cache_write * Decimal(price.cache_write_usd_per_million)
    ) / PER_MILLION

"""Adds up the token counts of the model's answers, and their cost.

Knows no limits. Costs are decimal amounts of US dollars.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from afresh.contract.order import Price, price_of
from afresh.contract.report import Usage
from afresh.episode.gateway.model_api import ModelAnswer, TokenCounts

PER_MILLION = Decimal(1_000_000)


@dataclass(frozen=True, slots=True, kw_only=True)
class Peak:
    """The largest input of one request, and its `percent` of the model's window if known."""

    tokens: int = 0
    percent: int | None = None

    def or_higher(self, other: "Peak") -> "Peak":
        """Return the higher of both for each field separately: windows differ between models."""
        known = [peak.percent for peak in (self, other) if peak.percent is not None]
        return Peak(tokens=max(self.tokens, other.tokens), percent=max(known, default=None))


@dataclass(slots=True, kw_only=True)
class UsageTotals:
    """The sum of several answers. `cost` leaves out answers without a price."""

    turns: int = 0
    tokens: TokenCounts = field(default_factory=TokenCounts)
    cost: Decimal = Decimal(0)
    has_unpriced: bool = False
    peak: Peak = Peak()

    def count(self, answer: ModelAnswer, pricing: Sequence[Price]) -> None:
        """Add an answer."""
        self.turns += 1
        self.tokens.add(answer.tokens)
        self.peak = self.peak.or_higher(peak_of(answer, pricing))
        self.add_cost(cost_of(answer, pricing))

    def add_cost(self, cost: Decimal | None) -> None:
        """Add a cost; None if it is unknown."""
        if cost is None:
            self.has_unpriced = True
        else:
            self.cost += cost

    def plus(self, other: "UsageTotals") -> "UsageTotals":
        """Return the sum of both."""
        tokens = TokenCounts()
        tokens.add(self.tokens)
        tokens.add(other.tokens)
        return UsageTotals(
            turns=self.turns + other.turns,
            tokens=tokens,
            cost=self.cost + other.cost,
            has_unpriced=self.has_unpriced or other.has_unpriced,
            peak=self.peak.or_higher(other.peak),
        )

    def usage(self, *, priced: bool) -> Usage:
        """Return the Usage for the Report, with a cost if there are prices and none is missing."""
        known = priced and not self.has_unpriced
        return Usage(
            turns=self.turns,
            input_tokens=self.tokens.input,
            output_tokens=self.tokens.output,
            cache_read_tokens=self.tokens.cache_read,
            cache_write_tokens=self.tokens.cache_write,
            cost_usd=f"{self.cost.normalize():f}" if known else None,
        )


def cost_of(answer: ModelAnswer, pricing: Sequence[Price]) -> Decimal | None:
    """Return the cost of an answer in US dollars by the first price that matches its model."""
    price = price_of(pricing, answer.model)
    if price is None:
        return None
    tokens = answer.tokens
    return (
        tokens.input * Decimal(price.input_usd_per_million)
        + tokens.output * Decimal(price.output_usd_per_million)
        + tokens.cache_read * Decimal(price.cache_read_usd_per_million)
        + tokens.cache_write * Decimal(price.cache_write_usd_per_million)
    ) / PER_MILLION


def peak_of(answer: ModelAnswer, pricing: Sequence[Price]) -> Peak:
    """Return the input of the request of this answer, including cached tokens."""
    tokens = answer.tokens
    input_tokens = tokens.input + tokens.cache_read + tokens.cache_write
    price = price_of(pricing, answer.model)
    window = price.context_window_tokens if price else None
    return Peak(tokens=input_tokens, percent=-(-100 * input_tokens // window) if window else None)

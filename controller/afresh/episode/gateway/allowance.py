"""What an episode may use of models, and whether another request beside those under way fits in.

Owns the budget's arithmetic, and what a request is expected to use before its answer says so. Pure:
it counts nothing itself.
"""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from afresh.contract.order import Budget, Price
from afresh.episode.gateway.tally import PER_MILLION, Tally

# A token of text or code takes about four bytes of JSON.
BYTES_PER_TOKEN = 4


class Allowance:
    """The budget of one episode; without one, everything fits in."""

    def __init__(self, budget: Budget | None, pricing: Sequence[Price]) -> None:
        self._tokens = budget.max_tokens if budget else None
        self._cost = Decimal(budget.max_cost_usd) if budget and budget.max_cost_usd else None
        rates = (
            Decimal(rate)
            for price in pricing
            for rate in (price.input_usd_per_million, price.cache_write_usd_per_million)
        )
        self._highest_rate = max(rates, default=Decimal(0)) / PER_MILLION

    @property
    def is_money(self) -> bool:
        """Whether every model must have a price."""
        return self._cost is not None

    def field_reached(self, used: Tally) -> str | None:
        """Return the field of spec.budget that leaves nothing for another request."""
        if self._tokens is not None and used.tokens.all >= self._tokens:
            return "maxTokens"
        return "maxCostUSD" if self._cost is not None and used.cost >= self._cost else None

    def field_exceeded(self, used: Tally) -> str | None:
        """Return the field of spec.budget that `used` is over."""
        if self._tokens is not None and used.tokens.all > self._tokens:
            return "maxTokens"
        return "maxCostUSD" if self._cost is not None and used.cost > self._cost else None

    def has_room(self, used: Tally, sizes: Iterable[int]) -> bool:
        """Whether requests of so many bytes are expected to fit in after what has been used.

        Each is expected to use what its bytes stand for, or as much as the largest one so far.
        """
        tokens, cost = used.tokens.all, used.cost
        for size in sizes:
            asked = expected_tokens(size)
            tokens += max(asked, used.largest_tokens)
            cost += max(asked * self._highest_rate, used.largest_cost)
        fits = self._tokens is None or tokens <= self._tokens
        return fits and (self._cost is None or cost <= self._cost)


def expected_tokens(size: int) -> int:
    """Return how many tokens a request of so many bytes is expected to tell the model."""
    return size // BYTES_PER_TOKEN

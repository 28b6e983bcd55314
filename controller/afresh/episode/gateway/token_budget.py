"""What an episode may use of models, and what is set aside for a request before it is sent.

Owns the budget's arithmetic, and what a request is expected to use before its answer says so. Pure:
it counts nothing itself.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from afresh.contract.order import LEAST_TOKENS, Budget, Price, price_of
from afresh.episode.gateway.request_reading import Wish
from afresh.episode.gateway.usage_totals import PER_MILLION, Tally

# A token of text or code takes about four bytes of JSON.
BYTES_PER_TOKEN = 4
# What an answer may take where neither the request nor the price list says it. Models that can say
# more than that at once are asked for no more; those that can say less want `maxOutputTokens`.
MOST_OUTPUT = 32_768
WINDOW_SHARE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """What is set aside for one request until its answer tells what it has used.

    `limit` is the most that one of its answers may take; `output` is that of all of them.
    """

    limit: int
    input: int
    output: int
    cost: Decimal

    @property
    def tokens(self) -> int:
        """All tokens that are set aside."""
        return self.input + self.output


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """Nothing can be set aside: `field` of spec.budget leaves too little for this request."""

    field: str


class Allowance:
    """The budget of one episode; without one, nothing is set aside."""

    def __init__(self, budget: Budget | None, pricing: Sequence[Price]) -> None:
        self._pricing = tuple(pricing)
        self._tokens = budget.max_tokens if budget else None
        self._cost = Decimal(budget.max_cost_usd) if budget and budget.max_cost_usd else None

    @property
    def is_money(self) -> bool:
        """Whether every model must have a price."""
        return self._cost is not None

    @property
    def is_bounded(self) -> bool:
        """Whether there is a budget."""
        return self._tokens is not None or self._cost is not None

    def field_reached(self, used: Tally) -> str | None:
        """Return the field of spec.budget that leaves too little for any other request."""
        if self._tokens is not None and used.tokens.all > self._tokens - LEAST_TOKENS:
            return "maxTokens"
        return "maxCostUSD" if self._cost is not None and used.cost >= self._cost else None

    def field_exceeded(self, used: Tally) -> str | None:
        """Return the field of spec.budget that `used` is over."""
        if self._tokens is not None and used.tokens.all > self._tokens:
            return "maxTokens"
        return "maxCostUSD" if self._cost is not None and used.cost > self._cost else None

    def reserve(
        self, used: Tally, others: Iterable[Reservation], wish: Wish, told: int
    ) -> Reservation | Shortage:
        """Set aside what a request may use beside `others`, which are under way.

        It is expected to tell the model `told` tokens; its answers get as much of what they ask for
        as is left.
        """
        taken = list(others)
        wanted = wish.output_tokens or self._usual_output(wish.model)
        limit, short = wanted, "maxTokens"
        if self._tokens is not None:
            left = self._tokens - used.tokens.all - sum(item.tokens for item in taken)
            limit = min(limit, (left - told) // wish.answers)
        in_rate, out_rate = self._rates(wish.model)
        if self._cost is not None:
            money = self._cost - used.cost - sum((item.cost for item in taken), Decimal(0))
            money -= told * in_rate
            affordable = int(money / out_rate / wish.answers) if out_rate else wanted
            if affordable < limit or money < 0:
                limit, short = (affordable if money >= 0 else 0), "maxCostUSD"
        if limit < min(wanted, LEAST_TOKENS):
            return Shortage(field=short)
        output = limit * wish.answers
        cost = told * in_rate + output * out_rate
        return Reservation(limit=limit, input=told, output=output, cost=cost)

    def is_whole(self, reserved: Reservation, wish: Wish) -> bool:
        """Whether the answers to a request get all that they ask for."""
        return reserved.limit >= (wish.output_tokens or self._usual_output(wish.model))

    def _usual_output(self, model: str) -> int:
        price = price_of(self._pricing, model)
        if price and price.max_output_tokens:
            return price.max_output_tokens
        window = price.context_window_tokens if price else None
        if window is None:
            return MOST_OUTPUT
        return min(MOST_OUTPUT, max(LEAST_TOKENS, window // WINDOW_SHARE))

    def _rates(self, model: str) -> tuple[Decimal, Decimal]:
        """Return what a token costs at most, in and out; of a model without a price, the highest.

        The name that an answer gives may have a price where the one that was asked for has none.
        """
        known = price_of(self._pricing, model)
        prices = [known] if known else self._pricing
        rates_in = (
            Decimal(rate)
            for price in prices
            for rate in (price.input_usd_per_million, price.cache_write_usd_per_million)
        )
        rates_out = (Decimal(price.output_usd_per_million) for price in prices)
        return (
            max(rates_in, default=Decimal(0)) / PER_MILLION,
            max(rates_out, default=Decimal(0)) / PER_MILLION,
        )


def expected_tokens(size: int) -> int:
    """Return how many tokens so many bytes are expected to be."""
    return size // BYTES_PER_TOKEN

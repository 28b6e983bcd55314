"""The budget of an episode, and what is reserved for a request before it is sent.

Owns the budget's arithmetic, and the estimate of what a request uses before its answer reports it.
Pure: it counts nothing itself.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from afresh.contract.order import LEAST_TOKENS, Budget, Price, price_of
from afresh.episode.gateway.request_reading import GenerationParameters
from afresh.episode.gateway.usage_totals import PER_MILLION, UsageTotals

# A token of text or code takes about four bytes of JSON.
BYTES_PER_TOKEN = 4
# The maximum of an answer if neither the request nor the price list states one. Models that can
# write longer answers are limited to it; models that accept less need `maxOutputTokens`.
MOST_OUTPUT = 32_768
WINDOW_SHARE = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """What is reserved for one request until its answer reports what it has used.

    `limit` is the maximum number of tokens of one answer; `output` is that of all its answers.
    `cost` is in US dollars.
    """

    limit: int
    input: int
    output: int
    cost: Decimal

    @property
    def tokens(self) -> int:
        """All reserved tokens."""
        return self.input + self.output


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortage:
    """Nothing can be reserved: `field` of spec.budget leaves too little for this request."""

    field: str


class TokenBudget:
    """The budget of one episode; without one, nothing is reserved."""

    def __init__(self, budget: Budget | None, pricing: Sequence[Price]) -> None:
        self._pricing = tuple(pricing)
        self._tokens = budget.max_tokens if budget else None
        self._cost = Decimal(budget.max_cost_usd) if budget and budget.max_cost_usd else None

    @property
    def is_money(self) -> bool:
        """Whether the budget limits the cost, so that every model must have a price."""
        return self._cost is not None

    @property
    def is_bounded(self) -> bool:
        """Whether there is a budget."""
        return self._tokens is not None or self._cost is not None

    def field_reached(self, used: UsageTotals) -> str | None:
        """Return the field of spec.budget that leaves too little for any further request."""
        if self._tokens is not None and used.tokens.all > self._tokens - LEAST_TOKENS:
            return "maxTokens"
        return "maxCostUSD" if self._cost is not None and used.cost >= self._cost else None

    def field_exceeded(self, used: UsageTotals) -> str | None:
        """Return the field of spec.budget that `used` exceeds."""
        if self._tokens is not None and used.tokens.all > self._tokens:
            return "maxTokens"
        return "maxCostUSD" if self._cost is not None and used.cost > self._cost else None

    def reserve(
        self,
        used: UsageTotals,
        others: Iterable[Reservation],
        parameters: GenerationParameters,
        input_tokens: int,
    ) -> Reservation | Shortage:
        """Reserve what a request may use in addition to `others`, which are under way.

        `input_tokens` is the expected input. Its answers get what the request asks for, or what is
        left of the budget if that is less.
        """
        taken = list(others)
        wanted = parameters.output_tokens or self._usual_output(parameters.model)
        limit, short = wanted, "maxTokens"
        if self._tokens is not None:
            left = self._tokens - used.tokens.all - sum(item.tokens for item in taken)
            limit = min(limit, (left - input_tokens) // parameters.answers)
        in_rate, out_rate = self._rates(parameters.model)
        if self._cost is not None:
            money = self._cost - used.cost - sum((item.cost for item in taken), Decimal(0))
            money -= input_tokens * in_rate
            affordable = int(money / out_rate / parameters.answers) if out_rate else wanted
            if affordable < limit or money < 0:
                limit, short = (affordable if money >= 0 else 0), "maxCostUSD"
        if limit < min(wanted, LEAST_TOKENS):
            return Shortage(field=short)
        output = limit * parameters.answers
        cost = input_tokens * in_rate + output * out_rate
        return Reservation(limit=limit, input=input_tokens, output=output, cost=cost)

    def is_whole(self, reserved: Reservation, parameters: GenerationParameters) -> bool:
        """Whether the answers get as many tokens as the request asks for."""
        return reserved.limit >= (parameters.output_tokens or self._usual_output(parameters.model))

    def _usual_output(self, model: str) -> int:
        price = price_of(self._pricing, model)
        if price and price.max_output_tokens:
            return price.max_output_tokens
        window = price.context_window_tokens if price else None
        if window is None:
            return MOST_OUTPUT
        return min(MOST_OUTPUT, max(LEAST_TOKENS, window // WINDOW_SHARE))

    def _rates(self, model: str) -> tuple[Decimal, Decimal]:
        """Return the maximum cost of an input and an output token, in US dollars.

        For a model without a price, the highest prices of the list are used: the model name in the
        answer may have a price although the requested name has none.
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
    """Return the estimated number of tokens in `size` bytes."""
    return size // BYTES_PER_TOKEN

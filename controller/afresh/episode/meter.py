"""Counts turns, tokens and cost, and remembers how the last request for the model went.

Owns the turn limit. A turn is one request for the model that was answered with success, whichever
model it was and whether or not several run at once; requests under way count until they fail.
"""

import threading
from collections.abc import Sequence
from decimal import Decimal
from fnmatch import fnmatchcase

from afresh.contract.order import Price
from afresh.contract.report import Usage
from afresh.episode.model_api import Answer, Fault, Tokens

PER_MILLION = Decimal(1_000_000)


class Turn:
    """One request for the model, from its start until the end of a `with` block.

    Neither answered nor failed means that the agent went away: that says nothing of the model.
    """

    def __init__(self, meter: "Meter") -> None:
        self._meter = meter
        self.answer: Answer | None = None
        self.fault: Fault | None = None
        self.not_before: float | None = None

    def __enter__(self) -> "Turn":
        return self

    def __exit__(self, *_: object) -> None:
        self._meter.settle(self)


class Meter:
    """Written by the gateway's thread, read by the runner's."""

    def __init__(self, max_turns: int, pricing: Sequence[Price]) -> None:
        self._max_turns = max_turns
        self._pricing = tuple(pricing)
        self._turns = 0
        self._under_way = 0
        self._total = Tokens()
        self._cost = Decimal(0)
        self._unpriced = False
        self._lock = threading.Lock()
        self.limit_reached = False
        self.last_fault: Fault | None = None
        self.not_before: float | None = None

    def begin(self) -> "Turn | None":
        """Reserve a turn. None if none is left."""
        with self._lock:
            if self._turns + self._under_way >= self._max_turns:
                self.limit_reached = True
                return None
            self._under_way += 1
            return Turn(self)

    def settle(self, turn: "Turn") -> None:
        """Count a turn that was answered, or give it back."""
        answer = turn.answer
        with self._lock:
            self._under_way -= 1
            if answer and answer.began:
                self._turns += 1
                self._add(answer)
            fault = turn.fault or (answer.fault if answer else None)
            if fault or (answer and answer.ended):
                self.last_fault = fault
                self.not_before = turn.not_before

    def usage(self) -> Usage:
        """Return what has been counted. No cost if anything counted has no price."""
        with self._lock:
            priced = self._pricing and not self._unpriced
            return Usage(
                turns=self._turns,
                input_tokens=self._total.input,
                output_tokens=self._total.output,
                cache_read_tokens=self._total.cache_read,
                cache_write_tokens=self._total.cache_write,
                cost_usd=f"{self._cost.normalize():f}" if priced else None,
            )

    def _add(self, answer: Answer) -> None:
        total, tokens = self._total, answer.tokens
        total.input += tokens.input
        total.output += tokens.output
        total.cache_read += tokens.cache_read
        total.cache_write += tokens.cache_write
        cost = cost_of(answer, self._pricing)
        if cost is None:
            self._unpriced = True
        else:
            self._cost += cost


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

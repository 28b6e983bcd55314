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

    def begin(self) -> bool:
        """Reserve a turn. False if none is left."""
        with self._lock:
            if self._turns + self._under_way >= self._max_turns:
                self.limit_reached = True
                return False
            self._under_way += 1
            return True

    def fail(self, fault: Fault, not_before: float | None = None) -> None:
        """Give the turn back: the request was refused or never answered."""
        with self._lock:
            self._under_way -= 1
            self.last_fault = fault
            self.not_before = not_before

    def give_up(self) -> None:
        """Give the turn back: the agent went away before there was an answer."""
        with self._lock:
            self._under_way -= 1

    def end(self, answer: Answer) -> None:
        """Count an answered request; its fault is one that came in the middle of the answer."""
        with self._lock:
            self._under_way -= 1
            self._turns += 1
            self.last_fault = answer.fault
            self.not_before = None
            self._add(answer)

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
                cost_usd=f"{self._cost:f}" if priced else None,
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

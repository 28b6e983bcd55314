"""Counts turns, tokens and cost, and remembers how the last request for the model went.

Owns the limits: the turns of one subtask, and the episode's budget. A turn is one request for the
model that was answered with success, whichever model it was and whether or not several run at once;
requests under way count as turns until they fail. So does one that the agent abandons while the
provider works on it: else an agent could ask for ever. Under a budget each has set aside what it
may use, and pays that where the last count of its answer does not come. How counts become Usage is
in `usage_totals`, what fits into the budget in `token_budget`, and how long faults last in
`circuit_breaker`.
"""

import threading
import time
from collections.abc import Callable, Sequence

from afresh.contract.order import Budget, Price
from afresh.contract.report import Usage
from afresh.episode.gateway.circuit_breaker import Outage
from afresh.episode.gateway.model_api import ModelAnswer, ModelFault, TokenCounts
from afresh.episode.gateway.request_reading import Wish
from afresh.episode.gateway.token_budget import Allowance, Reservation, Shortage, expected_tokens
from afresh.episode.gateway.usage_totals import Peak, Tally, cost_of

NOT_NOW = "The model's provider fails; there is no use in asking it again now."
NO_TURN_LEFT = "The turn limit of this task is reached."
NO_BUDGET_LEFT = "The budget of this work is used up."
# Of a short request most is what every request has; it says nothing of how dense its text is.
TELLING_BYTES = 4096
NO_PRICE = "The model has no price, and the budget of this work is an amount of money."


class NothingLeft(Exception):  # noqa: N818  # an answer to the agent
    """No request for the model passes any more. The argument is a sentence for the agent."""


class Turn:
    """One request for the model, from its start until the end of a `with` block.

    Neither answered nor failed means that the agent went away: that says nothing of the model.
    `size` is that of the request in bytes; `is_abandoned`, that the provider had all of it and may
    have answered. `reserved` is what it may use under a budget.
    """

    def __init__(self, meter: "Meter", wish: Wish, size: int, reserved: Reservation | None) -> None:
        self._meter = meter
        self.wish = wish
        self.size = size
        self.reserved = reserved
        self.is_abandoned = False
        self.asked = time.monotonic()
        self.answer: ModelAnswer | None = None
        self.fault: ModelFault | None = None
        self.not_before: float | None = None

    def __enter__(self) -> "Turn":
        return self

    def __exit__(self, *_: object) -> None:
        self._meter.settle(self)

    @property
    def is_untold(self) -> bool:
        """Whether the last count of what it has used has not come."""
        answer = self.answer
        if answer is None:
            return True
        is_last = answer.is_over or (answer.stopping and self.wish.answers == 1)
        return not (answer.is_counted and answer.stopping and is_last)

    @property
    def is_too_much(self) -> bool:
        """Whether the rest of the answer must not come: it is not paid for, or has no price."""
        return self._meter.is_too_much(self)


class Meter:
    """Written by the gateway's thread, read by the runner's. Turns are counted by subtask."""

    def __init__(
        self,
        max_turns: int,
        pricing: Sequence[Price],
        budget: Budget | None = None,
        model: str | None = None,
    ) -> None:
        self._max_turns = max_turns
        self._pricing = tuple(pricing)
        self._allowance = Allowance(budget, pricing)
        self._model = model or ""
        self._before = Tally()
        self._subtask = Tally()
        self._under_way: set[Turn] = set()
        self._outage = Outage()
        self._told_per_byte = 0.0
        self._last_settled = 0.0
        self._lock = threading.Lock()
        self.on_first_answer: Callable[[], None] = lambda: None
        self.on_use: Callable[[], None] = lambda: None
        self.limit_reached = False
        self.refused_by: str | None = None
        self.unpriced_model: str | None = None
        self.last_fault: ModelFault | None = None
        self.not_before: float | None = None
        self.first_asked: float | None = None
        """When the subtask's first request for the model came, in seconds since the epoch."""

    def begin_subtask(self) -> None:
        """Count the turns of another subtask from now on. No request may be under way."""
        with self._lock:
            self._before = self._before.plus(self._subtask)
            self._subtask = Tally()
            self._outage.begin_again()
            self.limit_reached = False
            self.last_fault = None
            self.not_before = None
            self.first_asked = None

    def require_more(self) -> None:
        """Raise NothingLeft if no request passes, whatever it is."""
        with self._lock:
            self._require_more()

    def begin(self, wish: Wish, size: int) -> Turn | None:
        """Reserve a turn for a request of so many bytes. Raises NothingLeft.

        None: the budget may not be enough for it besides those under way; one of them must settle
        first. A request that is alone passes as long as enough is left for a short answer.
        """
        with self._lock:
            self._require_more()
            reserved = self._reserved(wish, size)
            if isinstance(reserved, Shortage):
                if self._under_way:
                    return None
                self.refused_by = reserved.field
                raise NothingLeft(NO_BUDGET_LEFT)
            if reserved and self._under_way and not self._allowance.is_whole(reserved, wish):
                return None
            turn = Turn(self, wish, size, reserved)
            self.first_asked = self.first_asked or time.time()
            self._under_way.add(turn)
        if reserved:
            self.on_use()
        return turn

    def _require_more(self) -> None:
        if self.unpriced_model is not None:
            raise NothingLeft(NO_PRICE)
        spent = self._allowance.field_reached(self._used())
        if spent:
            self.refused_by = spent
            raise NothingLeft(NO_BUDGET_LEFT)
        if self._outage.refuses(time.monotonic()):
            raise NothingLeft(NOT_NOW)
        if self._subtask.turns + len(self._under_way) >= self._max_turns:
            self.limit_reached = True
            raise NothingLeft(NO_TURN_LEFT)

    def _reserved(self, wish: Wish, size: int) -> Reservation | Shortage | None:
        if not self._allowance.is_bounded:
            return None
        told = max(expected_tokens(size), int(size * self._told_per_byte))
        others = (turn.reserved for turn in self._under_way if turn.reserved)
        return self._allowance.reserve(self._used(), others, wish, told)

    def settle(self, turn: Turn) -> None:
        """Count a turn that was answered, or give it back."""
        answer = turn.answer
        with self._lock:
            self._under_way.discard(turn)
            self._last_settled = time.monotonic()
            had_answered = self._outage.has_answered
            fault = turn.fault or (answer.fault if answer else None)
            if answer and answer.began:
                self._expect(answer, turn)
                self._note_price(answer)
                self._subtask.count(answer, self._pricing)
            elif turn.is_abandoned or (answer is not None and not fault):
                self._subtask.turns += not fault
                if turn.reserved:
                    self._subtask.tokens.add(_tokens_of(turn.reserved))
                    self._subtask.add_cost(turn.reserved.cost)
            if fault or (answer and answer.ended):
                self._note_end(turn, fault)
            is_first = self._outage.has_answered and not had_answered
        self.on_use()
        if is_first:
            self.on_first_answer()

    def is_too_much(self, turn: Turn) -> bool:
        """Whether what has been used is over the budget while this turn's answer goes on."""
        answer = turn.answer
        if answer is None or not answer.began or answer.stopping:
            return False
        with self._lock:
            self._note_price(answer)
            over = self._allowance.field_exceeded(self._used(with_open=True))
            self.refused_by = self.refused_by or over
            return over is not None or self.unpriced_model is not None

    @property
    def quiet_since(self) -> float | None:
        """When the last request ended, by the monotonic clock; None while one is under way."""
        with self._lock:
            return None if self._under_way else self._last_settled

    @property
    def has_answered(self) -> bool:
        """Whether the provider has given a whole answer in this episode; it stays so."""
        with self._lock:
            return self._outage.has_answered

    @property
    def gives_up_for(self) -> ModelFault | None:
        """Why the agent is to be ended, if the provider lets it get no further."""
        with self._lock:
            return None if self._under_way else self._outage.gives_up_for(time.monotonic())

    @property
    def used_up(self) -> str | None:
        """The field of spec.budget that leaves nothing for another request."""
        with self._lock:
            return self._allowance.field_reached(self._used())

    def usage(self) -> Usage:
        """Return what the episode has used, and may be using: what is under way has its part.

        No cost if anything counted has no price.
        """
        with self._lock:
            used = self._used()
            for turn in self._under_way:
                if turn.reserved:
                    used.tokens.add(_tokens_of(turn.reserved))
                    used.add_cost(turn.reserved.cost)
            return used.usage(priced=bool(self._pricing))

    def subtask_usage(self) -> Usage:
        """Return what this subtask has used."""
        with self._lock:
            return self._subtask.usage(priced=bool(self._pricing))

    def subtask_peak(self) -> Peak:
        """Return the most that one request of this subtask has told a model."""
        with self._lock:
            return self._subtask.peak

    def _note_end(self, turn: Turn, fault: ModelFault | None) -> None:
        self.last_fault = fault
        self.not_before = turn.not_before
        if fault is None:
            self._outage.answered()
            return
        now = time.monotonic()
        wait = None if turn.not_before is None else turn.not_before - time.time()
        has_begun = turn.answer is not None and turn.answer.began
        self._outage.failed(fault, now, asked=turn.asked, wait=wait, has_begun=has_begun)

    def _used(self, *, with_open: bool = False) -> Tally:
        used = self._before.plus(self._subtask)
        for turn in self._under_way if with_open else ():
            if turn.answer and turn.answer.began:
                used.count(turn.answer, self._pricing)
        return used

    def _note_price(self, answer: ModelAnswer) -> None:
        if answer.unread:  # by the same model as the one before, as far as anybody knows
            answer.model = answer.model or self._model
        self._model = answer.model or self._model
        if self._allowance.is_money and cost_of(answer, self._pricing) is None:
            self.unpriced_model = answer.model

    def _expect(self, answer: ModelAnswer, turn: Turn) -> None:
        """Count what the answer has not told, as its bytes or as what has been set aside."""
        tokens, size = answer.tokens, turn.size
        told = tokens.input + tokens.cache_read + tokens.cache_write
        if told and size >= TELLING_BYTES:
            self._told_per_byte = max(self._told_per_byte, told / size)
        tokens.output = max(tokens.output, expected_tokens(answer.unread))
        if turn.reserved and turn.is_untold:
            tokens.input = tokens.input if told else turn.reserved.input
            tokens.output = max(tokens.output, turn.reserved.output)
            answer.model = answer.model or turn.wish.model
        elif not told and (answer.unread or not tokens.output):
            tokens.input = expected_tokens(size)


def _tokens_of(reserved: Reservation) -> TokenCounts:
    return TokenCounts(input=reserved.input, output=reserved.output)

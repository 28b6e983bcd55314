"""Counts turns, tokens and cost, and records the result of the last request to the model.

Owns the limits: the turns of one subtask, and the episode's budget. A turn is one request to any
model that was answered successfully. A request under way counts as a turn until it fails. So does a
request that the agent abandons while the provider works on it: otherwise an agent could send
requests without limit. Under a budget, an amount is reserved for each request, and is charged if
the final count of its answer does not arrive. `usage_totals` turns counts into Usage,
`token_budget` decides what fits into the budget, and `circuit_breaker` how long faults last.
"""

import threading
import time
from collections.abc import Callable, Sequence

from afresh.contract.order import Budget, Price
from afresh.contract.report import Usage
from afresh.episode.gateway.circuit_breaker import Outage
from afresh.episode.gateway.model_api import ModelAnswer, ModelFault, TokenCounts
from afresh.episode.gateway.request_reading import GenerationParameters
from afresh.episode.gateway.token_budget import Reservation, Shortage, TokenBudget, expected_tokens
from afresh.episode.gateway.usage_totals import Peak, UsageTotals, cost_of

NOT_NOW = "The model's provider is failing; do not send further requests now."
NO_TURN_LEFT = "The turn limit of this task is reached."
NO_BUDGET_LEFT = "The budget of this work is used up."
# A shorter request is mostly fixed text, which says nothing about its tokens per byte.
SAMPLE_BYTES = 4096
NO_PRICE = "The model has no price, and the budget of this work is an amount of money."


class NothingLeft(Exception):  # noqa: N818  # an answer to the agent
    """No more requests to the model are allowed. The argument is a sentence for the agent."""


class Turn:
    """One request to the model, from its start until the end of a `with` block.

    If there is neither an answer nor a fault, the agent closed the connection, which says nothing
    about the model. `size` is that of the request in bytes. `is_abandoned`: the provider had the
    whole request and may have answered. `reserved` is what the request may use under a budget.
    """

    def __init__(
        self,
        meter: "Meter",
        parameters: GenerationParameters,
        size: int,
        reserved: Reservation | None,
    ) -> None:
        self._meter = meter
        self.parameters = parameters
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
        self._meter.finish_turn(self)

    @property
    def lacks_final_count(self) -> bool:
        """Whether the final count of what the request used has not arrived."""
        answer = self.answer
        if answer is None:
            return True
        is_last = answer.is_over or (answer.stopping and self.parameters.answers == 1)
        return not (answer.is_counted and answer.stopping and is_last)

    @property
    def is_too_much(self) -> bool:
        """Whether the rest of the answer must not pass: it exceeds the budget or has no price."""
        return self._meter.is_too_much(self)


class Meter:
    """Counts the use of models. The gateway's thread writes it, and the runner's threads read it.

    Turns are counted for each subtask. `on_first_answer` is called after the first complete answer,
    `on_use` whenever the usage changes.
    """

    def __init__(
        self,
        max_turns: int,
        pricing: Sequence[Price],
        budget: Budget | None = None,
        model: str | None = None,
    ) -> None:
        self._max_turns = max_turns
        self._pricing = tuple(pricing)
        self._budget = TokenBudget(budget, pricing)
        self._model = model or ""
        self._before = UsageTotals()
        self._subtask = UsageTotals()
        self._under_way: set[Turn] = set()
        self._outage = Outage()
        self._input_tokens_per_byte = 0.0
        self._last_ended = 0.0
        self._lock = threading.Lock()
        self.on_first_answer: Callable[[], None] = lambda: None
        self.on_use: Callable[[], None] = lambda: None
        self.limit_reached = False
        self.refused_by: str | None = None
        self.unpriced_model: str | None = None
        self.last_fault: ModelFault | None = None
        self.not_before: float | None = None
        self.first_asked: float | None = None
        """When the subtask's first request to the model arrived, in seconds since the epoch."""

    def begin_subtask(self) -> None:
        """Start to count the turns of another subtask. No request may be under way."""
        with self._lock:
            self._before = self._before.plus(self._subtask)
            self._subtask = UsageTotals()
            self._outage.begin_again()
            self.limit_reached = False
            self.last_fault = None
            self.not_before = None
            self.first_asked = None

    def require_more(self) -> None:
        """Raise NothingLeft if no request at all is allowed."""
        with self._lock:
            self._require_more()

    def begin(self, parameters: GenerationParameters, size: int) -> Turn | None:
        """Reserve a turn for a request of `size` bytes. Raises NothingLeft.

        Returns None if the budget may not be enough for this request and those under way: one of
        them must end first. A request is allowed alone as long as enough is left for a short
        answer.
        """
        with self._lock:
            self._require_more()
            reserved = self._reserved(parameters, size)
            if isinstance(reserved, Shortage):
                if self._under_way:
                    return None
                self.refused_by = reserved.field
                raise NothingLeft(NO_BUDGET_LEFT)
            if reserved and self._under_way and not self._budget.is_whole(reserved, parameters):
                return None
            turn = Turn(self, parameters, size, reserved)
            self.first_asked = self.first_asked or time.time()
            self._under_way.add(turn)
        if reserved:
            self.on_use()
        return turn

    def _require_more(self) -> None:
        if self.unpriced_model is not None:
            raise NothingLeft(NO_PRICE)
        spent = self._budget.field_reached(self._used())
        if spent:
            self.refused_by = spent
            raise NothingLeft(NO_BUDGET_LEFT)
        if self._outage.refuses(time.monotonic()):
            raise NothingLeft(NOT_NOW)
        if self._subtask.turns + len(self._under_way) >= self._max_turns:
            self.limit_reached = True
            raise NothingLeft(NO_TURN_LEFT)

    def _reserved(
        self, parameters: GenerationParameters, size: int
    ) -> Reservation | Shortage | None:
        if not self._budget.is_bounded:
            return None
        input_tokens = max(expected_tokens(size), int(size * self._input_tokens_per_byte))
        others = (turn.reserved for turn in self._under_way if turn.reserved)
        return self._budget.reserve(self._used(), others, parameters, input_tokens)

    def finish_turn(self, turn: Turn) -> None:
        """Count a turn that was answered, or release its reservation."""
        answer = turn.answer
        with self._lock:
            self._under_way.discard(turn)
            self._last_ended = time.monotonic()
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
        """Whether usage exceeds the budget while this turn's answer is still arriving."""
        answer = turn.answer
        if answer is None or not answer.began or answer.stopping:
            return False
        with self._lock:
            self._note_price(answer)
            over = self._budget.field_exceeded(self._used(with_open=True))
            self.refused_by = self.refused_by or over
            return over is not None or self.unpriced_model is not None

    @property
    def quiet_since(self) -> float | None:
        """When the last request ended, on the monotonic clock; None while one is under way."""
        with self._lock:
            return None if self._under_way else self._last_ended

    @property
    def has_answered(self) -> bool:
        """Whether the provider has given at least one complete answer in this episode."""
        with self._lock:
            return self._outage.has_answered

    @property
    def gives_up_for(self) -> ModelFault | None:
        """Why the agent must be ended, if the failing provider prevents further work."""
        with self._lock:
            return None if self._under_way else self._outage.gives_up_for(time.monotonic())

    @property
    def used_up(self) -> str | None:
        """The field of spec.budget that leaves too little for another request, if any."""
        with self._lock:
            return self._budget.field_reached(self._used())

    def usage(self) -> Usage:
        """Return what the episode has used, including the reservations of requests under way.

        It has no cost if any counted answer has no price.
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
        """Return the largest input of one request of this subtask."""
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

    def _used(self, *, with_open: bool = False) -> UsageTotals:
        used = self._before.plus(self._subtask)
        for turn in self._under_way if with_open else ():
            if turn.answer and turn.answer.began:
                used.count(turn.answer, self._pricing)
        return used

    def _note_price(self, answer: ModelAnswer) -> None:
        if answer.unread:  # presumably by the same model as the answer before
            answer.model = answer.model or self._model
        self._model = answer.model or self._model
        if self._budget.is_money and cost_of(answer, self._pricing) is None:
            self.unpriced_model = answer.model

    def _expect(self, answer: ModelAnswer, turn: Turn) -> None:
        """Estimate the counts that the answer lacks, from its bytes or from the reservation."""
        tokens, size = answer.tokens, turn.size
        input_tokens = tokens.input + tokens.cache_read + tokens.cache_write
        if input_tokens and size >= SAMPLE_BYTES:
            self._input_tokens_per_byte = max(self._input_tokens_per_byte, input_tokens / size)
        tokens.output = max(tokens.output, expected_tokens(answer.unread))
        if turn.reserved and turn.lacks_final_count:
            tokens.input = tokens.input if input_tokens else turn.reserved.input
            tokens.output = max(tokens.output, turn.reserved.output)
            answer.model = answer.model or turn.parameters.model
        elif not input_tokens and (answer.unread or not tokens.output):
            tokens.input = expected_tokens(size)


def _tokens_of(reserved: Reservation) -> TokenCounts:
    return TokenCounts(input=reserved.input, output=reserved.output)

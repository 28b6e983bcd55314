"""Decides how long requests to a failing provider continue, and when the agent's run is ended.

Owns the rules about consecutive faults. Pure: the caller passes events and their times. Knows
neither requests nor programs. Times are seconds of one monotonic clock.
"""

from dataclasses import dataclass

from afresh.episode.gateway.model_api import ModelFault

# For this long an agent program may retry: its own quick retries take two to seven seconds, and a
# fault that ends within that time costs nothing. Longer retries only use up the episode's time.
RETRY_SECONDS = 8.0
# For this long a program whose requests are refused may end by itself and save its work.
END_SECONDS = 10.0
# A single fault may belong to a side request, such as one for a title, which is never repeated.
IN_A_ROW = 2
# Faults that are farther apart are considered unrelated.
APART_SECONDS = 30.0
# Some programs retry immediately and without limit.
TRIES = 4

PERMANENT = frozenset(
    {ModelFault.KEY_REFUSED, ModelFault.NO_CREDIT, ModelFault.UNTRUSTED, ModelFault.NOT_THERE}
)
TRANSIENT = frozenset(
    {
        ModelFault.RATE_LIMITED,
        ModelFault.UNAVAILABLE,
        ModelFault.UNREACHABLE,
        ModelFault.EMPTY,
        ModelFault.SILENT,
    }
)


@dataclass(slots=True)
class Outage:
    """The faults since the last complete answer.

    A fault that the agent's own request caused does not count: it says nothing about the next one.
    """

    _fault: ModelFault | None = None
    _since: float | None = None
    _last: float = 0.0
    _count: int = 0
    _is_final: bool = False
    _has_answered: bool = False

    @property
    def has_answered(self) -> bool:
        """Whether a complete answer has ever arrived."""
        return self._has_answered

    def answered(self) -> None:
        """Note a complete answer, which ends the outage."""
        self._has_answered = True
        self.begin_again()

    def begin_again(self) -> None:
        """Reset the faults, for another run of the agent."""
        self._fault = None
        self._since = None
        self._count = 0
        self._is_final = False

    def failed(
        self,
        fault: ModelFault,
        now: float,
        *,
        asked: float,
        wait: float | None = None,
        has_begun: bool = False,
    ) -> None:
        """Note at time `now` the fault of a request that was sent at time `asked`.

        `wait` is how many seconds the provider asks to wait, if it says so. `has_begun`: an answer
        had begun and broke off.
        """
        # The model has answered before, so the missing one must be another model.
        is_elsewhere = fault is ModelFault.NOT_THERE and self._has_answered
        if is_elsewhere or fault not in PERMANENT | TRANSIENT:
            return
        # A silent answer took long because it was silent; any other long answer shows progress.
        went_well = has_begun and now - asked >= RETRY_SECONDS and fault is not ModelFault.SILENT
        if self._since is None or went_well or asked >= self._last + APART_SECONDS:
            self.begin_again()
            self._since = now
        # Requests that were sent in parallel fail together: that counts as one fault.
        self._count += not self._count or asked >= self._last
        self._fault, self._last = fault, now
        # An episode that is refused before its first answer loses no work. The operator retries it
        # later, and knows which other episodes use the key.
        is_unwelcome = fault in TRANSIENT and not (self._has_answered or has_begun)
        is_repeated = self._count >= (IN_A_ROW if fault in PERMANENT else TRIES)
        is_long = wait is not None and is_too_long(wait)
        self._is_final |= is_unwelcome or is_repeated or is_long

    def refuses(self, now: float) -> bool:
        """Whether no more requests may be sent to the provider."""
        return self._has_lasted(RETRY_SECONDS, now) or self._is_final

    def gives_up_for(self, now: float) -> ModelFault | None:
        """Return why a program without a request under way cannot continue; None if it may.

        A single fault is no reason: the program may be busy with something else.
        """
        if self._has_lasted(END_SECONDS, now):
            return self._fault
        return None

    def _has_lasted(self, seconds: float, now: float) -> bool:
        if self._since is None or now < self._since + seconds:
            return False
        return self._is_final or self._count >= IN_A_ROW


def is_too_long(wait: float) -> bool:
    """Whether `wait`, the seconds that a provider asks to wait, are too many for an agent."""
    return wait > RETRY_SECONDS

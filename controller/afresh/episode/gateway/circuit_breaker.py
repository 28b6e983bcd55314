"""How long a provider that fails is asked again, and when its agent's run is given up.

Owns the patience with faults in a row. Pure: it is told what happens and when, and knows neither
requests nor programs. Times are seconds of one clock that never goes back.
"""

from dataclasses import dataclass

from afresh.episode.gateway.model_api import ModelFault

# Until then an agent's program may ask again: its own quick retries take two to seven seconds, and
# a fault that they outlast costs nothing. Longer, they only use up the time of the episode.
RETRY_SECONDS = 8.0
# Until then a program that has been refused may end by itself, and write down what it has done.
END_SECONDS = 10.0
# One fault may be that of a side request, for a cheaper model or a title, which nobody repeats.
IN_A_ROW = 2
# Faults that are farther apart have nothing to do with each other.
APART_SECONDS = 30.0
# Some programs ask again at once, and for ever.
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
    """The faults since the last whole answer.

    What the agent's own request caused is none: it says nothing of the next one.
    """

    _fault: ModelFault | None = None
    _since: float | None = None
    _last: float = 0.0
    _count: int = 0
    _is_final: bool = False
    _has_answered: bool = False

    @property
    def has_answered(self) -> bool:
        """Whether a whole answer has ever come."""
        return self._has_answered

    def answered(self) -> None:
        """Take in a whole answer: whatever was, is over."""
        self._has_answered = True
        self.begin_again()

    def begin_again(self) -> None:
        """Forget the faults: another run of the agent begins."""
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
        """Take in a fault of a request that was made at the time `asked`.

        `wait`: how long the provider asks to be left alone, where it says so. `has_begun`: its
        answer broke off.
        """
        # A model that has answered is there: it is another one that is not.
        is_elsewhere = fault is ModelFault.NOT_THERE and self._has_answered
        if is_elsewhere or fault not in PERMANENT | TRANSIENT:
            return
        # An answer that stops in its middle has taken long because it stopped.
        went_well = has_begun and now - asked >= RETRY_SECONDS and fault is not ModelFault.SILENT
        if self._since is None or went_well or asked >= self._last + APART_SECONDS:
            self.begin_again()
            self._since = now
        # Requests that were made at once fail at once: that is no repetition.
        self._count += not self._count or asked >= self._last
        self._fault, self._last = fault, now
        # An episode that is turned away before its first answer has nothing to lose: trying again
        # is for the operator, which knows who else uses the key.
        is_unwelcome = fault in TRANSIENT and not (self._has_answered or has_begun)
        is_repeated = self._count >= (IN_A_ROW if fault in PERMANENT else TRIES)
        is_long = wait is not None and is_too_long(wait)
        self._is_final |= is_unwelcome or is_repeated or is_long

    def refuses(self, now: float) -> bool:
        """Whether the provider is not to be asked any more."""
        return self._has_lasted(RETRY_SECONDS, now) or self._is_final

    def gives_up_for(self, now: float) -> ModelFault | None:
        """Return why a program that has no request under way will get no further by itself.

        One fault alone is no reason: the program may be busy with something else.
        """
        if self._has_lasted(END_SECONDS, now):
            return self._fault
        return None

    def _has_lasted(self, seconds: float, now: float) -> bool:
        if self._since is None or now < self._since + seconds:
            return False
        return self._is_final or self._count >= IN_A_ROW


def is_too_long(wait: float) -> bool:
    """Whether no agent waits for as many seconds, which its provider asks to be left alone."""
    return wait > RETRY_SECONDS

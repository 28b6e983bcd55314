"""Runs one package until it ends, until nothing goes on without a person, or until it is stopped.

Owns what an interrupt means: the first lets what runs end, the second ends it now, and the third
does not even wait for its Report.
"""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from types import FrameType

from afresh.api.phases import ENDED, PackagePhase
from afresh.core.decision import Decision
from afresh.core.observed import Observed
from afresh.local.loop import LocalLoop

# Nothing goes on until a person does something.
RESTING = ENDED | {PackagePhase.STALLED, PackagePhase.SUSPENDED}
# A third Ctrl-C, or a second TERM, does not wait for the last Reports.
LIMIT = 2
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass
class Interrupts:
    """How often somebody has asked this process to end, and what wakes it up then."""

    count: int = 0
    _pipe: tuple[int, int] = field(default_factory=lambda: os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC))

    @property
    def descriptor(self) -> int:
        """Becomes readable with each interrupt."""
        return self._pipe[0]

    def heard(self) -> int:
        """Return how many there were; until the next one, `descriptor` is not readable."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._pipe[0], 64)
        return self.count

    @contextlib.contextmanager
    def caught(self) -> Iterator[None]:
        """Count interrupts in the block, once, in place of ending the process."""
        # What the person's shell has this process ignore, as nohup does, stays ignored.
        numbers = [item for item in STOPS if signal.getsignal(item) is not signal.SIG_IGN]
        before = {number: signal.signal(number, self._take) for number in numbers}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            for descriptor in self._pipe:
                os.close(descriptor)

    def _take(self, number: int, _frame: FrameType | None) -> None:
        # A terminal that is gone, or a TERM, leaves nobody to ask a second time.
        self.count += 1 if number == signal.SIGINT else 2
        with contextlib.suppress(BlockingIOError):
            os.write(self._pipe[1], b"\0")


def run(loop: LocalLoop, interrupts: Interrupts, show: Callable[[Observed, Decision], None]) -> int:
    """Take steps until nothing goes on; return how often it was interrupted."""
    with interrupts.caught():
        loop.take_over()
        while True:
            count = interrupts.heard()
            loop.is_draining = count > 0
            if count > 1:
                loop.episodes.cut_short(at_once=count > LIMIT)
            seen, decision = loop.step()
            show(seen, decision)
            is_idle = not loop.episodes.are_live
            if is_idle and (loop.is_draining or decision.phase in RESTING):
                return count
            loop.wait(decision.recheck_after, interrupts.descriptor)

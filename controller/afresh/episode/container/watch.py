"""Watches a running agent: asks questions at intervals, and stops the container on a verdict.

Owns the threads and the lock around stopping the container. The questions are in `questions`.
"""

import threading
import time
from collections.abc import Sequence
from typing import Protocol, Self

from afresh.adapters.adapter import Verdict
from afresh.episode.context import EpisodeContext

# Asking a question takes at most a twentieth of the time.
PAUSES_PER_QUESTION = 20


class Question(Protocol):
    """A question whose answer may end an agent early.

    `pause` is the number of seconds before it is asked (again). None: the watch does not ask it by
    itself; its owner calls `AgentWatch.ask`.
    """

    name: str
    pause: float | None

    def ask(self) -> Verdict | None:
        """Return why the agent must be ended; None if it may continue."""
        ...


class AgentWatch:
    """Watches one run of the agent during a `with` block. Safe to use from several threads."""

    def __init__(self, context: EpisodeContext, questions: Sequence[Question]) -> None:
        self._context = context
        self._questions = questions
        self._verdicts: dict[str, Verdict] = {}
        self._over = threading.Event()
        self._acting = threading.Lock()

    @property
    def verdict(self) -> Verdict | None:
        """Why the agent was ended, if it was. Of several reasons, the first question's is given."""
        verdicts = (self._verdicts.get(question.name) for question in self._questions)
        return next(filter(None, verdicts), None)

    def start(self) -> None:
        """Start to ask, each question in a thread of its own since an answer may take long."""
        for question in self._questions:
            if question.pause is not None:
                threading.Thread(
                    target=self._run, args=(question,), name=question.name, daemon=True
                ).start()

    def stop(self) -> None:
        """Stop asking. Does not wait for an answer, but waits while a container is being stopped.

        Otherwise the next agent could start in a container that is being stopped for the agent
        before it.
        """
        with self._acting:
            self._over.set()

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def ask(self, question: Question) -> bool:
        """Ask once, and end the agent if there is a verdict. Returns whether there was one."""
        verdict = question.ask()
        if verdict is None:
            return False
        with self._acting:
            if question.name not in self._verdicts and not self._over.is_set():
                self._verdicts[question.name] = verdict
                self._context.log.say(f"ending the agent: {verdict.message}")
                self._context.agent_control.stop()
        return True

    def _run(self, question: Question) -> None:
        spent = 0.0
        while not self._over.wait(max(question.pause or 0.0, PAUSES_PER_QUESTION * spent)):
            began = time.monotonic()
            if self.ask(question):
                return
            spent = time.monotonic() - began

"""Waits until verify's container has started, so that no agent is paid if its image is missing.

Both containers start while the runner prepares.
"""

from afresh.contract.words import Outcome
from afresh.episode.container.commands import GONE, await_container
from afresh.episode.context import EpisodeContext
from afresh.episode.state import SubtaskState
from afresh.episode.stopped import SubtaskStopped


def run(context: EpisodeContext, state: SubtaskState) -> None:  # noqa: ARG001  # a stage's shape
    """Wait for the container. Raises SubtaskStopped if nothing can run in it."""
    await_container(context.verify_control)
    if context.verify_control.is_gone():
        raise SubtaskStopped(Outcome.INFRASTRUCTURE, GONE)

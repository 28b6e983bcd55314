"""The exception by which a stage ends its subtask with an outcome.

It is the only exception that carries an outcome. The operator decides what follows from one.
"""

from afresh.contract.report import Result, Unpushed, VerifyResult
from afresh.contract.text import one_line
from afresh.contract.words import Outcome


class SubtaskStopped(Exception):  # noqa: N818  # an end is not always an error
    """The subtask ends with `outcome`. `message` is a stable sentence that a user can act on.

    The message may quote an agent, so it is reduced to one line of printable characters.
    `is_servers`: the git server would answer every package of the repository in the same way.
    """

    def __init__(
        self,
        outcome: Outcome,
        message: str,
        *,
        exit_code: int | None = None,
        verify: VerifyResult | None = None,
        unpushed: Unpushed | None = None,
        is_servers: bool = False,
    ) -> None:
        self.message = one_line(message)
        super().__init__(self.message)
        self.outcome = outcome
        self.exit_code = exit_code
        self.verify = verify
        self.unpushed = unpushed
        self.is_servers = is_servers

    def result(self, subtask: str) -> Result:
        """Return the Result that is reported for the subtask with this id."""
        return Result(
            id=subtask,
            outcome=self.outcome,
            is_servers=self.is_servers,
            unpushed=self.unpushed,
            message=self.message,
            exit_code=self.exit_code,
            verify=self.verify,
        )

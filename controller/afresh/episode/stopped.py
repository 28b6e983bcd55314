"""How a stage says that the episode ends here for its subtask.

Owns the one exception that carries an outcome. What follows from an outcome is the operator's.
"""

from afresh.contract.report import Result, Unpushed, VerifyResult
from afresh.contract.text import one_line
from afresh.contract.words import Outcome


class SubtaskStopped(Exception):  # noqa: N818  # an end is not always an error
    """The subtask ends with `outcome`. `message` is a stable sentence that a user can act on.

    It may quote an agent: it is kept as one line of printable characters. `is_servers`: the git
    server would answer every package of the repository alike.
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
        """Return what is reported of the subtask."""
        return Result(
            id=subtask,
            outcome=self.outcome,
            is_servers=self.is_servers,
            unpushed=self.unpushed,
            message=self.message,
            exit_code=self.exit_code,
            verify=self.verify,
        )

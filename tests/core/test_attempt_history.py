"""Which attempts a subtask's status keeps for people."""

from typing import Any

import pytest

from afresh.core.planner import decide
from afresh.core.status import subtask_statuses
from tests.make import make_child, make_package, make_record, make_seen


def kept(*outcomes: tuple[str, str]) -> list[int]:
    """The numbers that are kept when one more starts after attempts which ended so."""
    attempts: list[dict[str, Any]] = [
        {"number": number, "outcome": outcome, "message": message}
        for number, (outcome, message) in enumerate(outcomes, start=1)
    ]
    package = make_package()
    child = make_child(package, "T001", phase="Pending", attempts=attempts)
    record = make_record(attempts=len(attempts))
    seen = make_seen(package, [record], subtasks=(child,))
    (status,) = subtask_statuses(seen, decide(seen)).values()
    return [item.number for item in status.attempts]


BAD_KEY = ("Auth", "The key is refused.")
FAILED = ("VerifyFailed", "Exit code 1.")


@pytest.mark.parametrize(
    ("outcomes", "want"),
    [
        pytest.param([FAILED] * 3, [1, 2, 3, 4], id="failures that count are all kept"),
        pytest.param(
            [FAILED, *[BAD_KEY] * 8], [1, 9, 10], id="of probes that end alike the last is kept"
        ),
        pytest.param(
            [BAD_KEY, ("Config", "No such ref."), BAD_KEY], [1, 2, 3, 4], id="probes that differ"
        ),
        pytest.param(
            [BAD_KEY, FAILED, BAD_KEY], [1, 2, 3, 4], id="probes with another between them"
        ),
        pytest.param([FAILED] * 10, list(range(2, 12)), id="never more than ten"),
    ],
)
def test_attempt_after_others_that_ended_so_leaves_these(
    outcomes: list[tuple[str, str]], want: list[int]
) -> None:
    assert kept(*outcomes) == want

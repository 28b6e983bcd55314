"""When a provider's limit ends, as a Report says it."""

import math
from datetime import timedelta

import pytest

from afresh.contract.outcomes import reset_of
from tests.make import NOW


@pytest.mark.parametrize(
    "seconds", [None, 1e18, -1e18, math.inf, math.nan, NOW.timestamp() + 33 * 86_400]
)
def test_time_that_nobody_could_wait_for_is_none(seconds: float | None) -> None:
    assert reset_of(seconds, NOW) is None


def test_time_within_a_month_is_believed() -> None:
    assert reset_of(NOW.timestamp() + 86_400, NOW) == NOW + timedelta(days=1)

"""Durations, tokens and shares as people read them, at the edges between their units."""

from collections.abc import Callable
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from afresh.cli.amounts import duration, moment, percent, tokens

WRITTEN = [
    pytest.param(duration, None, "", id="unknown duration"),
    pytest.param(duration, 0.4, "0 s", id="less than a second"),
    pytest.param(duration, 59.6, "1 min", id="nearly a minute"),
    pytest.param(duration, 185, "3 min 5 s", id="minutes and seconds"),
    pytest.param(duration, 3599, "59 min 59 s", id="nearly an hour"),
    pytest.param(duration, 7440, "2 h 4 min", id="hours and minutes"),
    pytest.param(duration, 266_400, "3 d 2 h", id="days and hours"),
    pytest.param(tokens, 0, "0", id="no token"),
    pytest.param(tokens, 999, "999", id="hundreds"),
    pytest.param(tokens, 1000, "1.00k", id="a thousand"),
    pytest.param(tokens, 12_345, "12.3k", id="thousands"),
    pytest.param(tokens, 999_499, "999k", id="nearly a million"),
    pytest.param(tokens, 999_950, "1.00M", id="a million when rounded"),
    pytest.param(tokens, 4_560_000, "4.56M", id="millions"),
    pytest.param(tokens, 20_000_000_000, "20.0G", id="billions"),
    pytest.param(percent, None, "", id="unknown share"),
    pytest.param(percent, 0.0, "0 %", id="no share"),
    pytest.param(percent, 0.156, "16 %", id="a share"),
]


@pytest.mark.parametrize(("write", "amount", "want"), WRITTEN)
def test_amount_is_written_in_the_unit_that_fits_it(
    write: Callable[[Any], str], amount: Any, want: str
):
    assert write(amount) == want


def test_moment_is_told_in_utc():
    there = timezone(timedelta(hours=2))

    assert moment(datetime(2030, 1, 2, 1, 0, 0, tzinfo=there)) == "2030-01-01 23:00:00 UTC"

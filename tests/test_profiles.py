"""The profiles of Hypothesis that `conftest` registers."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def test_a_failure_of_the_random_profile_is_told_as_it_was_found() -> None:
    failed: list[bool] = []

    @settings(settings.get_profile("random"), database=None)
    @given(st.lists(st.integers()))
    def check(numbers: list[int]) -> None:
        failed.append(sum(numbers) >= 1000)
        assert not failed[-1]

    with pytest.raises(AssertionError):
        check()

    found = failed.index(True)
    assert len(failed) - found <= 3, "making it smaller takes hundreds of runs"

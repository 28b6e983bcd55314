"""What holds for every test: none is judged by how long it takes, or by chance.

The examples that Hypothesis makes are the same in every run of the same code. With
`--hypothesis-profile=random` they are new ones, and more of them: a test that takes fewer than the
profile says names a share of them.
"""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.monitoring.prometheus import programs

settings.register_profile(
    "same",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    derandomize=True,
)
settings.register_profile(
    "random", parent=settings.get_profile("same"), derandomize=False, max_examples=5000
)
settings.load_profile("same")


@pytest.fixture(scope="session")
def promtool() -> Path:
    """Return the program that checks Prometheus' rules and expressions."""
    return programs() / "promtool"

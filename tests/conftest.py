"""What holds for every test: none is judged by how long anything takes."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.monitoring.prometheus import programs

settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("untimed")


@pytest.fixture(scope="session")
def promtool() -> Path:
    """Return the program that checks Prometheus' rules and expressions."""
    return programs() / "promtool"

"""What holds for every test: none is judged by how long anything takes."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile(
    "untimed", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True
)
settings.load_profile("untimed")
ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def prometheus_bin() -> Path:
    """Return the directory of Debian's `prometheus` and `promtool`, unpacked and not installed."""
    done = subprocess.run(
        [str(ROOT / "deploy" / "prometheus.sh")],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@pytest.fixture(scope="session")
def promtool(prometheus_bin: Path) -> Path:
    """Return the program that checks rules and expressions."""
    return prometheus_bin / "promtool"

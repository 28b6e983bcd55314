"""Debian's Prometheus, unpacked and not installed: its programs for the tests of one session."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="session")
def prometheus_bin() -> Path:
    """Return the directory of `prometheus` and `promtool`."""
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

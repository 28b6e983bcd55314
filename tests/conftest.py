"""What holds for every test: none is judged by how long it takes, or by chance.

The examples that Hypothesis makes are the same in every run of the same code. With
`--hypothesis-profile=random` they are new ones, and more of them: a test that takes fewer than the
profile says names a share of them. A failure is not made smaller there, which takes minutes each:
what is printed runs it again.
"""

import os
import signal
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings

from tests.left_out import LEFT_OUT, said
from tests.monitoring.prometheus import programs

# Without compiled files every worker and every program that a test starts compiles all it imports.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

settings.register_profile(
    "same",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
    derandomize=True,
)
settings.register_profile(
    "random",
    parent=settings.get_profile("same"),
    derandomize=False,
    max_examples=5000,
    phases=(Phase.explicit, Phase.reuse, Phase.generate, Phase.target),
)
settings.load_profile("same")


def pytest_configure(config: pytest.Config) -> None:
    """End on SIGTERM as on SIGINT: what the tests have started is taken down.

    A shell has its background jobs ignore SIGINT, and so would the programs that tests interrupt.
    """
    if not hasattr(config, "workerinput"):
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.default_int_handler)


def pytest_xdist_auto_num_workers() -> int | None:
    """Run two tests per core with `-n auto`: about half of a test's time is waiting."""
    is_told = "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ
    return None if is_told else 2 * len(os.sched_getaffinity(0))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Where tests run side by side, let the files begin first that take longest."""
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: [item.get_closest_marker(mark) is None for mark in LEFT_OUT])


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say which kinds of tests the run has left out, and what runs them."""
    for line in said(config.option.markexpr):
        terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def promtool() -> Path:
    """Return the program that checks Prometheus' rules and expressions."""
    return programs() / "promtool"

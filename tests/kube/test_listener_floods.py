"""A hostile pod floods the operator's ports: memory stays, and the others are still answered."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from afresh.contract.hint_request import REPORT_PATH
from afresh.episode.reporting.log import Log
from afresh.episode.reporting.redact import Redactor
from afresh.episode.reporting.sender import Destination, send_hint
from tests.kube.floods import CLEAR, Sends, first_messages, flood, half_a_handshake

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
MOST_KIBIBYTES = 32 * 1024
ONE = ["127.0.1.1"]
SEVERAL = [f"127.0.1.{number}" for number in range(1, 4)]
# Each with its whole share, they take every place that there is.
MANY = [f"127.0.1.{number}" for number in range(1, 15)]
ROUNDS = 6
# So many in a row have to fail before the kubelet ends a container.
PROBES = 3
# As often as one node's kubelet and runners ask; an address that asks more is refused.
PACE_SECONDS = 0.2
REFUSED = "the operator answered the report with status 401"


@dataclass(frozen=True)
class Ports:
    """Where the process listens."""

    report: int
    metrics: int
    pins: list[str]
    kibibytes: int

    def get(self, path: str) -> str:
        url = f"http://127.0.0.1:{self.metrics}{path}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            text: str = answer.read().decode()
        return text

    def standing(self) -> dict[str, Any]:
        told: dict[str, Any] = json.loads(self.get("/standing"))
        return told


@pytest.fixture(scope="module")
def ports() -> Iterator[Ports]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.kube.listener_process"],
        cwd=ROOT, env={"PYTHONPATH": f"{ROOT}:{ROOT / 'controller'}", "PATH": "/usr/bin:/bin"},
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    yield Ports(**json.loads(process.stdout.readline()))
    process.kill()
    process.wait()
    process.stdout.close()


def is_healthy(ports: Ports) -> bool:
    """Probe once; a connection that is given up for others is a probe that failed."""
    try:
        return ports.get("/healthz") == "ok\n"
    except (ConnectionError, urllib.error.URLError):  # a reset while it connects is wrapped
        return False


def honest(ports: Ports, token: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Probe and report as kubelet and runners do; return what was not answered."""
    missed = []
    to = Destination(f"https://127.0.0.1:{ports.report}{REPORT_PATH}", ports.pins)
    for _ in range(ROUNDS):
        time.sleep(PACE_SECONDS)
        if not any(is_healthy(ports) for _ in range(PROBES)):
            missed.append("probe")
        capsys.readouterr()
        report = b'{"episode":"e","stage":"reported","version":1}'
        send_hint(to, token, report, Log(Redactor()))
        said = capsys.readouterr().out
        if REFUSED not in said:  # nobody is known there, and it says so
            missed.append(said)
    return missed


FULL = {
    "unfinished heads from one address": (CLEAR["unfinished heads"], ONE),
    "connections that say nothing in every place": (CLEAR["connections that say nothing"], MANY),
}
ON_METRICS = {name: (sends, SEVERAL) for name, sends in CLEAR.items()} | FULL
ON_REPORTS = {
    **{name: (sends, False, hosts) for name, (sends, hosts) in ON_METRICS.items()},
    **{f"{name}, by TLS": (sends, True, SEVERAL) for name, sends in CLEAR.items()},
    "half a handshake": (half_a_handshake, False, MANY),
    "first messages of handshakes": (first_messages, False, MANY),
}


def say(before: dict[str, Any], after: dict[str, Any]) -> None:
    """Print what the flood cost, for whoever runs this with -rP."""
    sys.stdout.write(
        f"worst delay {after['worst_delay'] * 1000:.0f} ms, "
        f"usual {after['usual_delay'] * 1000:.1f} ms, "
        f"memory at most {after['kibibytes'] / 1024:.1f} MiB, "
        f"CPU {after['cpu'] - before['cpu']:.2f} s\n"
    )


@pytest.fixture
def token(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text("no-such-token")
    return file


@pytest.mark.parametrize(("sends", "tls", "hosts"), ON_REPORTS.values(), ids=ON_REPORTS)
def test_a_flood_of_the_report_port_costs_little_memory_and_hints_and_probes_are_answered(
    ports: Ports, token: Path, capsys: pytest.CaptureFixture[str],
    sends: Sends, tls: bool, hosts: list[str],
) -> None:  # fmt: skip
    before = ports.standing()
    with flood(ports.report, hosts, sends, tls=tls):
        missed = honest(ports, token, capsys)
    after = ports.standing()

    say(before, after)
    assert missed == []
    assert after["kibibytes"] < MOST_KIBIBYTES + ports.kibibytes


@pytest.mark.parametrize(("sends", "hosts"), ON_METRICS.values(), ids=ON_METRICS)
def test_a_flood_of_the_metrics_port_costs_little_memory_and_hints_and_probes_are_answered(
    ports: Ports, token: Path, capsys: pytest.CaptureFixture[str], sends: Sends, hosts: list[str]
) -> None:
    before = ports.standing()
    with flood(ports.metrics, hosts, sends):
        missed = honest(ports, token, capsys)
    after = ports.standing()

    say(before, after)
    assert missed == []
    assert after["kibibytes"] < MOST_KIBIBYTES + ports.kibibytes

"""Debian's Prometheus as a process of a test, with the chart's alerts. Knows nothing of Afresh."""

import json
import os
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ALERTS = ROOT / "charts" / "afresh" / "alerts"
PATIENCE = 240


def programs() -> Path:
    """Return the directory of `prometheus` and `promtool`, unpacked and not installed.

    Where they cannot be had the test is skipped; with CI=true it fails.
    """
    done = subprocess.run(
        [str(ROOT / "tools" / "prometheus.sh")],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    if done.returncode != 0 and os.environ.get("CI") != "true":
        pytest.skip(done.stderr.strip().splitlines()[-1])
    assert done.returncode == 0, done.stderr
    return Path(done.stdout.strip())


@dataclass(frozen=True)
class Prometheus:
    """One that runs, by the address of its API."""

    address: str

    def ask(self, path: str, **query: str) -> Any:
        """Return what the API answers. Fails the test if it is an error."""
        with urlopen(f"{self.address}/api/v1/{path}?{urlencode(query)}", timeout=120) as answer:
            body = json.load(answer)
        assert body["status"] == "success", body
        return body["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return the series that an expression has now."""
        found: list[dict[str, Any]] = self.ask("query", query=expression)["result"]
        return found

    def wait_for(self, *expressions: str) -> None:
        """Return when each of the expressions has data. Fails the test if that takes too long."""
        deadline = time.monotonic() + PATIENCE
        missing = list(expressions)
        while missing and time.monotonic() < deadline:
            missing = [expression for expression in missing if not self.query(expression)]
            time.sleep(0.2 if missing else 0)
        assert not missing


@contextmanager
def running(folder: Path, port: int, *paths: str) -> Iterator[Prometheus]:
    """Scrape paths of a port on the loopback every second until the block is left."""
    config = {
        "global": {"scrape_interval": "1s", "evaluation_interval": "1s"},
        "rule_files": [f"{ALERTS}/*.yaml"],
        "scrape_configs": [
            {
                "job_name": path.strip("/"),
                "metrics_path": path,
                # As the Prometheus operator scrapes by the chart's monitors.
                "honor_labels": True,
                "static_configs": [
                    {"targets": [f"127.0.0.1:{port}"], "labels": {"namespace": "afresh-system"}}
                ],
            }
            for path in paths
        ],
    }
    folder.mkdir(exist_ok=True)
    file = folder / "prometheus.yaml"
    file.write_text(yaml.safe_dump(config))
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{listener.getsockname()[1]}"
    arguments = [
        str(programs() / "prometheus"),
        f"--config.file={file}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address={address}",
        "--log.level=warn",
    ]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(arguments, stdout=log, stderr=log)
    try:
        _wait_until_ready(process, f"http://{address}/-/ready", folder / "log")
        yield Prometheus(f"http://{address}")
    finally:
        process.terminate()
        process.wait(timeout=120)


def _wait_until_ready(process: subprocess.Popen[bytes], address: str, log: Path) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert process.poll() is None, log.read_text()
        try:
            with urlopen(address, timeout=60):
                return
        except URLError:
            time.sleep(0.1)
    raise AssertionError(f"Prometheus is not ready: {log.read_text()}")

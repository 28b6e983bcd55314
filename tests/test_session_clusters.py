"""The cluster of a killed test session is removed by the next one, and those of others stay."""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.session_clusters import new_name
from tools.singlenode import processes
from tools.singlenode.paths import ClusterPaths
from tools.singlenode.processes import ProcessLaunch, ProcessRecord


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))


@pytest.fixture
def ended() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen(["true"]) as process:
        process.wait(timeout=120)
    return process.pid


def half_up(name: str) -> ClusterPaths:
    """A cluster that was being started when its session was killed."""
    paths = ClusterPaths(name)
    paths.records.mkdir(parents=True)
    paths.kind_file.write_text("control-plane")
    return paths


@pytest.fixture
def running(ended: int, tmp_path: Path) -> Iterator[ProcessRecord]:
    """A component of the ended process's cluster."""
    paths = half_up(f"apiserver-{ended}")
    launch = ProcessLaunch(
        command=("sleep", "600"),
        log=tmp_path / "log",
        record=paths.record("etcd"),
        environment={"PATH": os.environ["PATH"]},
    )
    processes.start(launch)
    record = processes.read_record(launch.record)
    assert record is not None
    yield record
    processes.kill(record, wait_seconds=60)


def test_cluster_of_a_killed_session_is_removed_with_its_processes(
    ended: int, running: ProcessRecord
):
    name = new_name("apiserver")

    assert name == f"apiserver-{os.getpid()}"
    assert not ClusterPaths(f"apiserver-{ended}").root.exists()
    assert not processes.is_alive(running)


def test_cluster_of_an_earlier_session_with_the_same_number_is_removed():
    left = half_up(f"apiserver-{os.getpid()}")

    assert new_name("apiserver") == left.name
    assert not left.root.exists()


def test_cluster_that_runs_of_another_kind_or_of_a_user_stays(ended: int):
    others = [
        half_up(name)
        for name in (f"apiserver-{os.getppid()}", f"e2e-{ended}", "apiserver", "apiserver-mine")
    ]

    new_name("apiserver")

    assert [paths.name for paths in others if not paths.root.exists()] == []

import os
import signal
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tools.singlenode import processes
from tools.singlenode.errors import ClusterError
from tools.singlenode.processes import ProcessLaunch, ProcessRecord

_PATH = {"PATH": os.environ["PATH"]}


def _launch(tmp_path: Path, *command: str) -> ProcessLaunch:
    return ProcessLaunch(
        command=command, log=tmp_path / "log", record=tmp_path / "record", environment=_PATH
    )


@pytest.fixture
def sleeper(tmp_path: Path) -> Iterator[ProcessRecord]:
    processes.start(_launch(tmp_path, "sleep", "600"))
    record = processes.read_record(tmp_path / "record")
    assert record is not None
    yield record
    processes.kill(record, wait_seconds=60)


def test_a_started_process_is_alive(sleeper: ProcessRecord) -> None:
    assert processes.is_alive(sleeper)


def test_a_started_process_leads_a_session_of_its_own(sleeper: ProcessRecord) -> None:
    assert os.getsid(sleeper.pid) == sleeper.pid


def test_a_killed_process_is_not_alive(sleeper: ProcessRecord) -> None:
    processes.kill(sleeper, wait_seconds=60)

    assert not processes.is_alive(sleeper)


def test_a_process_that_is_gone_is_killed_without_an_error(sleeper: ProcessRecord) -> None:
    processes.kill(sleeper, wait_seconds=60)
    os.waitpid(sleeper.pid, 0)

    processes.kill(sleeper, wait_seconds=0)

    assert not processes.is_alive(sleeper)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"start_time": 1}, id="it started at another time"),
        pytest.param({"boot_id": "another"}, id="it belongs to another boot"),
    ],
)
def test_a_recycled_number_is_never_signalled(
    sleeper: ProcessRecord, change: dict[str, object]
) -> None:
    recorded = replace(sleeper, **change)  # type: ignore[arg-type] # the table holds both types

    processes.kill(recorded, wait_seconds=0)

    assert not processes.is_alive(recorded)
    assert processes.is_alive(sleeper)


def test_a_zombie_is_not_alive(sleeper: ProcessRecord) -> None:
    os.kill(sleeper.pid, signal.SIGKILL)
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)

    assert not processes.is_alive(sleeper)


def test_a_command_with_blanks_and_parentheses_is_recorded(tmp_path: Path) -> None:
    odd = tmp_path / "a) (b c"
    odd.symlink_to("/bin/sleep")

    processes.start(_launch(tmp_path, str(odd), "60"))
    record = processes.read_record(tmp_path / "record")

    assert record is not None
    assert processes.is_alive(record)
    processes.kill(record, wait_seconds=60)


def test_a_process_sees_only_the_environment_that_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET", "x")

    processes.start(_launch(tmp_path, "sh", "-c", "env; exec sleep 600"))
    record = processes.read_record(tmp_path / "record")
    assert record is not None
    environment = Path(f"/proc/{record.pid}/environ").read_text()
    processes.kill(record, wait_seconds=60)

    assert "SECRET" not in environment


def test_a_process_that_cannot_be_recorded_is_an_error(tmp_path: Path) -> None:
    launch = replace(_launch(tmp_path, "sleep", "600"), record=tmp_path / "no" / "such" / "record")

    with pytest.raises(ClusterError, match="cannot start sleep"):
        processes.start(launch)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("", id="nothing"),
        pytest.param("boot\n", id="half of it"),
    ],
)
def test_a_record_that_was_not_finished_names_no_process(tmp_path: Path, content: str) -> None:
    (tmp_path / "record").write_text(content)

    assert processes.read_record(tmp_path / "record") is None

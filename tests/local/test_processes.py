"""Processes are told apart from later ones of the same number, and ended by where they live."""

import os
import subprocess
from pathlib import Path

import pytest

from afresh.local.processes import Identity, boot_id, end_all_below

SLEEP = ("sleep", "600")


def test_process_lives_until_it_ends_although_nobody_has_asked_for_its_end():
    with subprocess.Popen(SLEEP) as process:
        identity = Identity.of(process.pid, boot_id())
        assert identity.lives(boot_id())

        process.kill()
        identity.wait(60)

        assert not identity.lives(boot_id())
    assert not identity.lives(boot_id())
    identity.wait(60)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param({"boot": "earlier"}, id="of an earlier boot"),
        pytest.param({"start": "1"}, id="started earlier"),
    ],
)
def test_process_with_the_number_of_another_is_not_taken_for_it(other: dict[str, str]):
    identity = Identity.of(os.getpid(), boot_id())

    assert not Identity(**(identity.to_json() | other)).lives(boot_id())


def test_processes_that_live_in_a_folder_are_ended_and_no_others(tmp_path: Path):
    (tmp_path / "link").symlink_to(tmp_path / "one")
    homes = [tmp_path / "one/git", tmp_path / "one", tmp_path / "one-more/git", tmp_path / "two/a"]
    environments = [{"HOME": str(home), "PATH": os.environ["PATH"]} for home in homes]
    processes = [subprocess.Popen(SLEEP, env=each) for each in environments]
    (tmp_path / "one").mkdir()

    end_all_below(tmp_path / "link")

    inside, *outside = processes
    try:
        assert inside.wait(60) == -9
        assert [process.poll() for process in outside] == [None, None, None]
    finally:
        for process in outside:
            process.kill()
            process.wait()

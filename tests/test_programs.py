"""The cache of programs: a lock names what was installed, and nothing half installed stays."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.episode.pod import wait_until
from tests.programs import Run, cache_folder, digest_of, install_once

ROOT = Path(__file__).parents[1]
NAME = "program-1.0"
# Installs by a command that goes on when the installer is killed, and ends when it may.
SLOW = f"""
from tests.programs import install_once
def fill(draft, run):
    (draft / "half").touch()
    run(["sh", "-c", "touch begun; while [ ! -e may-end ]; do sleep 0.02; done; touch ended"])
install_once({NAME!r}, fill)
"""
# Tells which of two did it.
QUICK = f"""
import os
from tests.programs import install_once
install_once({NAME!r}, lambda draft, run: (draft / str(os.getpid())).touch())
"""

Start = Callable[[str], subprocess.Popen[bytes]]


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.fixture
def start(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Start]:
    """Return what starts an installer, with `folder` as its working directory."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    started: list[subprocess.Popen[bytes]] = []

    def begin(program: str) -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([sys.executable, "-c", program], cwd=folder))
        return started[-1]

    yield begin
    (folder / "may-end").touch()
    for process in started:
        process.kill()
        process.wait(timeout=120)


def waits_for_a_lock(process: subprocess.Popen[bytes]) -> bool:
    lines = Path("/proc/locks").read_text().splitlines()
    return any(line.split()[1] == "->" and f" {process.pid} " in line for line in lines)


def installed() -> dict[str, list[str]]:
    """The folders in the cache, each with its files."""
    folders = [path for path in cache_folder().iterdir() if path.is_dir()]
    return {path.name: sorted(file.name for file in path.iterdir()) for path in folders}


def fill(draft: Path, run: Run) -> None:
    run(["touch", str(draft / "whole")])


def test_same_lock_has_the_same_name_everywhere(folder: Path):
    for name in ("one", "two"):
        (folder / name).write_text("left-pad 1.0")

    assert digest_of(folder / "one") == digest_of(folder / "two")


def test_changed_lock_has_another_name_whichever_of_its_files_has_changed(folder: Path):
    files = [folder / "package.json", folder / "package-lock.json"]
    names = set()
    for texts in (("a", "b"), ("a", "c"), ("ab", ""), ("b", "a")):
        for file, text in zip(files, texts, strict=True):
            file.write_text(text)
        names.add(digest_of(*files))

    assert len(names) == 4


def test_installation_that_fails_leaves_nothing_under_the_name_and_the_next_is_whole():
    with pytest.raises(AssertionError, match="no such registry"):
        install_once(NAME, lambda _, run: run(["sh", "-c", "echo no such registry >&2; false"]))

    install_once(NAME, fill)

    assert installed() == {NAME: ["whole"]}


def test_what_an_installation_that_was_killed_has_left_is_removed_by_the_next_of_any_name(
    folder: Path, start: Start
):
    killed = start(SLOW)
    wait_until((folder / "begun").exists)
    killed.kill()
    killed.wait(timeout=120)
    (folder / "may-end").touch()

    install_once("another", fill)

    assert installed() == {"another": ["whole"]}


def test_installation_waits_for_the_programs_of_one_that_was_killed(folder: Path, start: Start):
    killed = start(SLOW)
    wait_until((folder / "begun").exists)
    killed.kill()
    killed.wait(timeout=120)
    following = start(QUICK)
    wait_until(lambda: waits_for_a_lock(following))
    before = (folder / "ended").exists()

    (folder / "may-end").touch()

    assert following.wait(timeout=120) == 0
    assert not before
    assert (folder / "ended").exists()
    assert installed() == {NAME: [str(following.pid)]}


def test_of_two_installations_at_once_one_is_done_and_both_use_it(folder: Path, start: Start):
    first = start(SLOW)
    wait_until((folder / "begun").exists)
    second = start(QUICK)
    wait_until(lambda: waits_for_a_lock(second))

    (folder / "may-end").touch()

    assert (first.wait(timeout=120), second.wait(timeout=120)) == (0, 0)
    assert installed() == {NAME: ["half"]}

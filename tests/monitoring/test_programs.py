"""Prometheus' programs where they cannot be had: a contributor goes on, CI does not."""

import shutil
from pathlib import Path

import pytest

from tests.monitoring.prometheus import programs

TOOLS = ("sh", "dirname", "mkdir", "flock", "mktemp", "rm")


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without Prometheus and without apt-get."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in TOOLS:
        found = shutil.which(name)
        assert found
        (folder / name).symlink_to(found)
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.mark.usefixtures("bare")
def test_a_contributor_reads_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception) as skipped:
        programs()

    assert skipped.value.msg == "apt-get cannot download prometheus: install it yourself."


@pytest.mark.usefixtures("bare")
def test_what_a_run_that_was_killed_has_unpacked_is_removed(tmp_path: Path) -> None:
    home = tmp_path / "cache" / "afresh" / "prometheus"
    (home / "new.killed" / "usr").mkdir(parents=True)

    with pytest.raises((pytest.skip.Exception, AssertionError)):
        programs()

    assert [path.name for path in home.iterdir()] == ["lock"]


@pytest.mark.usefixtures("bare")
def test_ci_may_not_go_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")

    with pytest.raises(AssertionError, match="install it yourself"):
        programs()

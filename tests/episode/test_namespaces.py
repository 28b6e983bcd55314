"""Where a user can make no namespace: a contributor reads what to do, and CI fails."""

from pathlib import Path

import pytest

from tests.episode.pod import require_namespaces


@pytest.fixture
def bare(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder on the PATH."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@pytest.fixture
def refused(bare: Path) -> None:
    """A kernel that lets only root make namespaces."""
    program = bare / "unshare"
    program.write_text("#!/bin/sh\necho unshare: Operation not permitted >&2\nexit 1\n")
    program.chmod(0o755)


@pytest.mark.usefixtures("refused")
def test_contributor_reads_why_and_what_to_do(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception) as skipped:
        require_namespaces()

    assert skipped.value.msg == (
        "needs PID namespaces (unshare: Operation not permitted): allow user namespaces, "
        "or run as root"
    )


@pytest.mark.usefixtures("bare")
def test_machine_without_the_program_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("CI", raising=False)

    with pytest.raises(pytest.skip.Exception, match="unshare is not installed"):
        require_namespaces()


@pytest.mark.usefixtures("refused")
def test_ci_may_not_go_without(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CI", "true")

    with pytest.raises(AssertionError, match="Operation not permitted"):
        require_namespaces()

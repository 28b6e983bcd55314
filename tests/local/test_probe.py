"""Whether this machine can hold an agent is known before anything starts."""

from pathlib import Path

import pytest

from afresh.local.sandbox.probe import SandboxError, require_bubblewrap
from tests.local.clones import needs_sandbox


@pytest.fixture
def only_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The one folder in which programs are looked for."""
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


@needs_sandbox
def test_machine_that_can_start_a_container_is_accepted() -> None:
    require_bubblewrap()


def test_machine_without_bubblewrap_is_told_what_to_install(only_program: Path) -> None:
    with pytest.raises(SandboxError, match="install the package bubblewrap"):
        require_bubblewrap()


def test_reason_of_the_kernel_is_named(only_program: Path) -> None:
    script = (
        "#!/bin/sh\necho warning >&2\necho 'setting up uid map: Permission denied' >&2\nexit 1\n"
    )
    program = only_program / "bwrap"
    program.write_text(script)
    program.chmod(0o755)

    with pytest.raises(SandboxError, match=r"\(setting up uid map: Permission denied\); allow"):
        require_bubblewrap()

"""A package of a clone, run on this machine: real git, the real runner, a real sandbox."""

import subprocess
from pathlib import Path
from typing import Any

import pytest

from afresh.api.phases import PackagePhase
from afresh.local.clone import CloneError
from afresh.local.session import Session
from tests.local.clones import needs_sandbox

SCRIPT = "cat > /dev/null; ls -A / > seen-$(date +%N).txt"


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")
    return subprocess.run(
        ["git", *identity, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout


def class_manifest(script: str) -> dict[str, Any]:
    spec = {"adapter": "Command", "command": ["sh", "-c", script], "image": "none:1"}
    return {"metadata": {"name": "script"}, "spec": spec}


def package_manifest(*ids: str, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "demo"},
        "spec": {
            "agentClassName": "script",
            "repository": {"url": "https://example.com/a/b.git", "baseRef": "main"},
            "verify": {"command": ["sh", "-c", "ls seen-*"]},
            "subtasks": [{"id": id, "title": id, "prompt": f"Do {id}."} for id in ids],
            **spec,
        },
    }


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    folder = tmp_path / "my clone"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch", "main")
    (folder / "readme.txt").write_text("Hello.\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Begin")
    return folder


def run(clone: Path, package: dict[str, Any], script: str = SCRIPT) -> PackagePhase | None:
    session = Session.around(clone)
    name = session.apply(package, class_manifest(script))
    return session.run(name, lambda _seen, _decision: None, {}).package.status.phase


@needs_sandbox
def test_package_of_two_subtasks_is_on_its_branch_and_the_checkout_is_as_it_was(clone: Path):
    before = git(clone, "status", "--porcelain=v2", "--branch")

    assert run(clone, package_manifest("T1", "T2")) is PackagePhase.SUCCEEDED

    subjects = git(clone, "log", "--format=%s", "main..afresh/demo").splitlines()
    assert subjects == ["T2", "T1", "Plan"]
    assert git(clone, "status", "--porcelain=v2", "--branch") == before


@needs_sandbox
def test_agent_sees_nothing_of_the_person(clone: Path):
    run(clone, package_manifest("T1"))

    seen = git(clone, "show", "afresh/demo", "--format=").splitlines()
    names = {line.removeprefix("+") for line in seen if line.startswith("+") and "/" not in line}
    assert names.isdisjoint({"root", "srv", "mnt", "media", "boot"})


def test_branch_that_is_checked_out_is_refused_before_anything_starts(clone: Path):
    git(clone, "switch", "--quiet", "-c", "afresh/demo")

    with pytest.raises(CloneError, match="is checked out"):
        run(clone, package_manifest("T1"))

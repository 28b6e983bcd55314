"""Clones to run packages in, and the packages: real git repositories in folders of the test."""

import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

PROBE = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]
needs_sandbox = pytest.mark.skipif(
    shutil.which("bwrap") is None or subprocess.run(PROBE, check=False).returncode != 0,
    reason="needs bubblewrap and user namespaces",
)
ADA = ("-c", "user.name=Ada", "-c", "user.email=ada@example.com")


def git(folder: Path, *arguments: str) -> str:
    return subprocess.run(
        ["git", *ADA, *arguments], cwd=folder, check=True, capture_output=True, text=True
    ).stdout


def make_clone(folder: Path) -> Path:
    """A repository with one commit on main."""
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch", "main")
    (folder / "readme.txt").write_text("Hello.\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "Begin")
    return folder


def subjects(clone: Path) -> list[str]:
    """The subtasks whose commits are on the package's branch, first ones first."""
    found = git(clone, "log", "--reverse", "--format=%s", "main..afresh/demo").splitlines()
    return [line for line in found if line != "Plan"]


def class_manifest(*command: str) -> dict[str, Any]:
    spec = {"adapter": "Command", "command": list(command), "image": "none:1"}
    return {"metadata": {"name": "script"}, "spec": spec}


def package_manifest(*ids: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "afresh.dev/v1alpha1",
        "kind": "WorkPackage",
        "metadata": {"name": "demo"},
        "spec": {
            "agentClassName": "script",
            "repository": {"url": "https://example.com/a/b.git", "baseRef": "main"},
            "verify": {"command": ["sh", "-c", "ls seen-*"]},
            "subtasks": [
                {"id": id, "title": id, "prompt": f"Make the file seen-{id}."} for id in ids
            ],
            **spec,
        },
    }

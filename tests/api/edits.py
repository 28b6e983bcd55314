"""Edits of a package that is there: those that are refused, and some that are not."""

from typing import Any

import pytest

from tests.api.manifests import Manifest, changed, entry, minimal_package

REPOSITORY = {
    "url": "https://git.example.com/team/api.git",
    "baseRef": "main",
    "branch": "work",
    "secretName": "git",
}

REPOSITORY_EDITS = (
    pytest.param(REPOSITORY | {"url": "https://git.example.com/other.git"}, id="url"),
    pytest.param(REPOSITORY | {"baseRef": "next"}, id="baseRef"),
    pytest.param(REPOSITORY | {"branch": "other"}, id="branch"),
    pytest.param({"url": REPOSITORY["url"], "secretName": "git"}, id="branch removed"),
)

ALLOWED_EDITS = (
    pytest.param({"spec.agentClassName": "other"}, id="class"),
    pytest.param({"spec.subtasks": [entry("T002")]}, id="subtask replaced"),
    pytest.param({"spec.suspend": True}, id="suspended"),
    pytest.param({"spec.repository.secretName": "other"}, id="Secret of the repository"),
    pytest.param({"spec.subtasks": [entry("T001", revision=0)]}, id="revision lowered"),
    pytest.param({"spec.context": {"mode": "Persistent"}}, id="context mode"),
    pytest.param({"spec.repository.baseRef": "main"}, id="default written out"),
)


def edited_repository(repository: dict[str, Any] = REPOSITORY) -> Manifest:
    """A package with that repository."""
    return changed(minimal_package(), {"spec.repository": repository})

"""Unusual manifests that must pass: what a rule must not refuse by mistake."""

from typing import Any

import pytest

from tests.api.manifests import ABSENT, entries, entry


def _url(url: str) -> Any:
    return pytest.param({"spec.repository.url": url}, id=url)


def _branch(branch: str) -> Any:
    return pytest.param({"spec.repository.branch": branch}, id=f"branch {branch}")


ACCEPTANCES = [
    _url("http://git.example.com:8080/a"),
    _url("https://git.example.com/~me/deep/er/a.git"),
    _url("https://dev.example.com/org/project/_git/a%20b"),
    _url("https://[2001:db8::1]:8443/a.git"),
    _url("ssh://git@git.example.com:2222/team/a.git"),
    _url("ssh://git.example.com/team/a.git"),
    _url("git@git.example.com:team/a.git"),
    _url("deploy-user@git_host:/srv/a.git"),
    _url("https://git.example.com/scoped/@team/a.git"),
    _branch("feature/T-1_b.c+d"),
    _branch("größe"),
    _branch("user@host"),
    _branch("lock"),
    pytest.param({"spec.repository.baseRef": "v1.2.3"}, id="a tag as base"),
    pytest.param(
        {"spec.repository.author": {"name": "Zoë O'Neil (bot)", "email": "zoe+bot@example.com"}},
        id="an author",
    ),
    pytest.param(
        {
            "spec.repository.lfs": True,
            "spec.repository.submodules": [
                {"path": "vendor/.lib/größe", "url": "https://other.example.com/lib.git"},
                {"path": "b..c", "url": "http://other.example.com/c"},
            ],
        },
        id="submodules and LFS",
    ),
    pytest.param(
        {"spec.subtasks": [entry("A.b_c-1", dependsOn=["9"]), entry("9")]},
        id="a dependency further down the list",
    ),
    pytest.param(
        {"spec.subtasks": [entry("A", dependsOn=["B"]), entry("B", dependsOn=["A"])]},
        id="a cycle, which is the operator's to refuse",
    ),
    pytest.param({"spec.subtasks": entries(50)}, id="as many subtasks as the default maxEpisodes"),
    pytest.param({"spec.subtasks": [entry("T" * 20)]}, id="an id of 20 characters"),
    pytest.param({"metadata.name": "n" * 40}, id="a name of 40 characters"),
    pytest.param(
        {"spec.subtasks": [entry("T1", prompt="é" * 16384)]}, id="a prompt of exactly 32 KiB"
    ),
    pytest.param(
        {"spec.subtasks": [entry(f"T{n}", prompt="p" * 32768) for n in range(5)]},
        id="prompts of exactly 160 KiB together",
    ),
    pytest.param(
        {"spec.verify": ABSENT, "spec.subtasks": [entry("T1", verify={"command": ["true"]})]},
        id="verify on the only subtask",
    ),
    pytest.param(
        {"spec.subtasks": [entry("T1", files=["a..b/**", ".github/*", "..."])]},
        id="files with dots",
    ),
    pytest.param({"spec.verify.command": ["sh", "-c", ""]}, id="an empty argument"),
    pytest.param(
        {
            "spec.resources": {
                "requests": {"cpu": 1, "memory": "1024Mi"},
                "limits": {"cpu": "1000m", "memory": "1Gi"},
            }
        },
        id="requests that equal the limits in other units",
    ),
    pytest.param({"spec.resources": {"limits": {"cpu": "0.5"}}}, id="half a core"),
    pytest.param({"spec.budget": {"maxCostUSD": "0"}}, id="a budget of nothing"),
    pytest.param({"spec.context.resetInterval": 0}, id="no reset interval"),
]

"""How many requests `status` makes: a slow network multiplies them."""

import io
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import yaml

from afresh.cli.__main__ import main
from tests.cli.packages import busy_package, children_of
from tests.kube.answering_server import server

PACKAGES = "/apis/afresh.dev/v1alpha1/namespaces/team-a/workpackages"
SUBTASKS = "/apis/afresh.dev/v1alpha1/namespaces/team-a/subtasks"
CLASSES = "/apis/afresh.dev/v1alpha1/agentclasses"


def listed(kind: str, *items: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    for number, item in enumerate(items):
        item["metadata"] |= {"uid": f"{kind}-{number}", "resourceVersion": "1"}
    return 200, {
        "kind": f"{kind}List", "apiVersion": "afresh.dev/v1alpha1", "metadata": {},
        "items": list(items),
    }  # fmt: skip


def package(**status: Any) -> dict[str, Any]:
    return busy_package(**status).to_manifest()


def subtasks() -> list[dict[str, Any]]:
    return [child.to_manifest() for child in children_of(busy_package())]


@pytest.mark.parametrize(
    ("words", "answers", "want"),
    [
        pytest.param(("status",), [listed("WorkPackage", package())], [PACKAGES], id="the table"),
        pytest.param(
            ("status", "token-auth"),
            [listed("WorkPackage", package()), listed("Subtask", *subtasks())],
            [PACKAGES, SUBTASKS],
            id="the tree",
        ),
        pytest.param(
            ("status", "token-auth"),
            [
                listed("WorkPackage", package(reason="GateClosed")),
                listed("Subtask", *subtasks()),
                listed("AgentClass"),
            ],
            [PACKAGES, SUBTASKS, CLASSES],
            id="the tree of a package at a closed gate",
        ),
    ],
)
def test_status_makes_one_request_for_each_kind_that_it_shows(
    words: tuple[str, ...], answers: Any, want: list[str], tmp_path: Path
):
    with server(list(answers)) as (port, asked):
        config = {
            "current-context": "c",
            "contexts": [{"name": "c", "context": {"cluster": "c", "namespace": "team-a"}}],
            "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        }
        path = tmp_path / "config"
        path.write_text(yaml.safe_dump({**config, "users": []}))
        with redirect_stdout(io.StringIO()) as out:
            code = main([*words, "--kubeconfig", str(path)])

    assert code == 0
    assert "token-auth" in out.getvalue()
    assert [path.partition("?")[0] for path, _, _ in asked] == want

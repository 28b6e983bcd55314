import json
from pathlib import Path
from typing import Any

import pytest

from tools.singlenode import binaries, kueue
from tools.singlenode.errors import ClusterError
from tools.singlenode.paths import ClusterPaths


@pytest.fixture
def written(tmp_path: Path) -> dict[str, Any]:
    (tmp_path / "overlay").mkdir()
    (tmp_path / "go" / "config" / "default").mkdir(parents=True)
    text = kueue.kustomization(tmp_path / "overlay", tmp_path / "go" / "config" / "default")
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClusterPaths:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    paths = ClusterPaths("demo")
    paths.root.mkdir(parents=True)
    paths.kind_file.write_text("node")
    return paths


def test_kueues_own_manifests_are_named_by_a_relative_path(written: dict[str, Any]) -> None:
    assert written["resources"] == ["../go/config/default"]


def test_the_controller_is_the_image_that_was_built_here(written: dict[str, Any]) -> None:
    deployment = json.loads(written["patches"][0]["patch"])

    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    assert (container["image"], container["imagePullPolicy"]) == (kueue.IMAGE, "Never")


def test_only_jobs_are_queued(written: dict[str, Any]) -> None:
    config_map = json.loads(written["patches"][1]["patch"])

    settings = json.loads(config_map["data"]["controller_manager_config.yaml"])
    assert settings["integrations"] == {"frameworks": ["batch/job"]}


def test_the_controller_is_kept_apart_from_what_every_cluster_needs() -> None:
    (program,) = binaries.KUEUE

    assert binaries.path(program).parent != binaries.directory()
    assert program not in binaries.ALL


def test_a_controller_that_is_not_built_is_named_with_the_remedy(node: ClusterPaths) -> None:
    with pytest.raises(ClusterError, match="kueue is not built: run `make kueue`"):
        kueue.install(node)


def test_a_control_plane_without_a_node_is_refused(node: ClusterPaths) -> None:
    node.kind_file.write_text("control-plane")

    with pytest.raises(ClusterError, match="demo has no node for Kueue to run on"):
        kueue.install(node)

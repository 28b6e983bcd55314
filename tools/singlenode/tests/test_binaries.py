from dataclasses import replace
from pathlib import Path

import pytest

from tools.singlenode import binaries
from tools.singlenode.binaries import GoModule
from tools.singlenode.errors import ClusterError


@pytest.fixture
def module(tmp_path: Path) -> GoModule:
    (tmp_path / "go.mod").write_text(
        "module x\n\ngo 1.25.3\n\nrequire (\n\ta.example/b v1.2.3 // indirect\n)\n"
    )
    (tmp_path / "go.sum").write_text("a.example/b v1.2.3 h1:abc=\n")
    return GoModule(directory=tmp_path, subject="a.example/b", programs={"b": "a.example/b"})


def test_the_version_is_the_pinned_one(module: GoModule) -> None:
    assert module.version() == "v1.2.3"
    assert replace(module, subject="x").version() == ""


def test_the_oldest_go_is_the_modules(module: GoModule) -> None:
    assert module.go_version() == (1, 25, 3)


@pytest.mark.parametrize("file", ["go.mod", "go.sum", "main.go"])
def test_a_changed_pin_changes_the_fingerprint(module: GoModule, file: str) -> None:
    before = module.fingerprint()

    with (module.directory / file).open("a") as pins:
        pins.write("// changed\n")

    assert module.fingerprint() != before


def test_the_fingerprint_is_the_same_in_every_checkout(module: GoModule, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for name in ("go.mod", "go.sum"):
        (elsewhere / name).write_bytes((module.directory / name).read_bytes())

    assert replace(module, directory=elsewhere).fingerprint() == module.fingerprint()


def test_every_program_has_a_pinned_version() -> None:
    assert binaries.pinned_versions() == {
        "k8s.io/kubernetes": "v1.34.4",
        "go.etcd.io/etcd/server/v3": "v3.6.8",
        "helm.sh/helm/v4": "v4.3.1",
        "sigs.k8s.io/kueue": "v0.15.0",
    }


def test_a_program_that_is_not_built_is_named_with_the_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    with pytest.raises(ClusterError, match="etcd is not built: run `python3 tools/singlenode"):
        binaries.require(["etcd"])

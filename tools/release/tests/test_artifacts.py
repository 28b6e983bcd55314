"""What a release has besides images: complete, of the right version, the same bytes each time."""

import subprocess
import tarfile
import zipfile
from dataclasses import replace
from email.parser import Parser
from pathlib import Path

import pytest
import yaml

from tools.release import artifacts, reproducible, versions
from tools.release.tests.project import copy_of_the_project
from tools.singlenode import binaries

VERSION = "7.8.9"


@pytest.fixture
def release(tmp_path: Path) -> artifacts.Release:
    project = copy_of_the_project(tmp_path)
    versions.write(project, VERSION)
    return artifacts.Release(
        repository=project, version=VERSION, seconds=1_790_000_000, target=tmp_path / "dist"
    )


def contents(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_the_wheel_holds_the_package_its_licence_and_nothing_else(
    release: artifacts.Release,
) -> None:
    artifacts.build_distributions(release)

    with zipfile.ZipFile(release.target / f"afresh-{VERSION}-py3-none-any.whl") as wheel:
        names = wheel.namelist()
        info = f"afresh-{VERSION}.dist-info"
        metadata = Parser().parsestr(wheel.read(f"{info}/METADATA").decode())
    assert {name.split("/")[0] for name in names} == {"afresh", info}
    assert {"LICENSE", "NOTICE"} == {Path(name).name for name in names if "/licenses/" in name}
    assert "afresh/cli/commands.py" in names
    assert (metadata["Version"], metadata["License-Expression"]) == (VERSION, "Apache-2.0")


def test_the_sdist_holds_what_the_wheel_is_built_of(release: artifacts.Release) -> None:
    artifacts.build_distributions(release)

    with tarfile.open(release.target / f"afresh-{VERSION}.tar.gz") as sdist:
        top = {name.split("/")[1] for name in sdist.getnames()}
    expected_files = {"CHANGELOG.md", "LICENSE", "NOTICE", "PKG-INFO", "README.md"}
    assert top - {".gitignore"} == {*expected_files, "controller", "pyproject.toml"}


def test_distributions_that_are_built_twice_are_the_same_bytes(
    release: artifacts.Release, tmp_path: Path
) -> None:
    again = replace(release, target=tmp_path / "again")

    artifacts.build_distributions(release)
    artifacts.build_distributions(again)

    assert contents(release.target) == contents(again.target)
    assert len(contents(release.target)) == 2


def test_a_tool_that_fails_is_named_with_its_last_line(release: artifacts.Release) -> None:
    (release.repository / "pyproject.toml").write_text("[project]\n")

    with pytest.raises(artifacts.ArtifactError, match="hatchling build failed: "):
        artifacts.build_distributions(release)


def test_an_archive_has_nothing_of_the_day_and_the_machine(tmp_path: Path) -> None:
    files = {"b/two": b"2", "a/one": b"1"}
    for name in ("first", "second"):
        reproducible.write_tar_gz(tmp_path / name, files, seconds=1_790_000_000)

    assert (tmp_path / "first").read_bytes() == (tmp_path / "second").read_bytes()
    assert reproducible.read_tar_gz(tmp_path / "first") == files
    with tarfile.open(tmp_path / "first") as tar:
        owners = {(entry.mtime, entry.uid, entry.uname) for entry in tar}
    assert owners == {(1_790_000_000, 0, "")}


@pytest.mark.apiserver
def test_the_manifests_can_be_applied_where_they_are_unpacked(
    release: artifacts.Release, tmp_path: Path
) -> None:
    name = f"afresh-{VERSION}-manifests"
    artifacts.build(release)

    with tarfile.open(release.target / f"{name}.tar.gz") as packed:
        packed.extractall(tmp_path, filter="data")
    done = subprocess.run(
        [str(binaries.path("kubectl")), "kustomize", str(tmp_path / name)],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip

    kinds = {item["kind"] for item in yaml.safe_load_all(done.stdout)}
    assert {"CustomResourceDefinition", "Deployment", "Namespace", "ServiceAccount"} <= kinds


@pytest.mark.apiserver
def test_a_release_has_its_charts_and_crds_the_same_each_time(
    release: artifacts.Release, tmp_path: Path
) -> None:
    again = replace(release, target=tmp_path / "again")

    artifacts.build(release)
    artifacts.build(again)

    found = contents(release.target)
    assert found == contents(again.target)
    charts = [name for name in found if name.endswith(f"-{VERSION}.tgz")]
    assert len(charts) == len(list((release.repository / "charts").iterdir()))
    for name in charts:
        shown = _helm("show", "chart", str(release.target / name))
        assert shown["version"] == shown["appVersion"] == VERSION
    assert f"afresh-{VERSION}-manifests.tar.gz" in found
    crds = yaml.safe_load_all(found[f"afresh-{VERSION}-crds.yaml"])
    assert sorted(crd["spec"]["names"]["kind"] for crd in crds) == [
        "AgentClass", "Subtask", "WorkPackage",
    ]  # fmt: skip


def _helm(*words: str) -> dict:
    helm = binaries.require(("helm",)) / "helm"
    done = subprocess.run(
        [str(helm), *words], capture_output=True, text=True, timeout=120, check=True
    )
    return yaml.safe_load(done.stdout)

"""One version: pyproject.toml says it, and every other place repeats it."""

import tomllib
from pathlib import Path

import pytest
import yaml

from afresh import __version__
from tools.release import versions
from tools.release.tests.project import ROOT, copy_of_the_project

EACH = [pytest.param(item, id=f"{item.path} {item.line}") for item in versions.places(ROOT)]
PROJECT_VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


def test_every_place_says_the_version_of_the_project() -> None:
    chart = yaml.safe_load((ROOT / "charts" / "afresh" / "Chart.yaml").read_text())

    versions.require(ROOT, PROJECT_VERSION)
    assert (chart["version"], chart["appVersion"], __version__) == (PROJECT_VERSION,) * 3


@pytest.mark.parametrize("place", EACH)
def test_a_place_that_says_another_version_is_named(
    place: versions.VersionPlace, tmp_path: Path
) -> None:
    project = copy_of_the_project(tmp_path)
    place.write(project, "9.9.9")

    with pytest.raises(versions.VersionError, match=f"{place.path} has 9.9.9, not {__version__}"):
        versions.require(project, __version__)


def test_a_version_is_set_everywhere_and_nothing_else_changes(tmp_path: Path) -> None:
    project = copy_of_the_project(tmp_path)

    versions.write(project, "9.9.9")

    versions.require(project, "9.9.9")
    for place in versions.places(ROOT):
        text = (project / place.path).read_text()
        assert text.replace("9.9.9", PROJECT_VERSION) == (ROOT / place.path).read_text()


def test_a_file_without_a_version_is_named(tmp_path: Path) -> None:
    project = copy_of_the_project(tmp_path)
    (project / "pyproject.toml").write_text("[project]\n")

    with pytest.raises(versions.VersionError, match=r"pyproject\.toml has no version"):
        versions.require(project, "1.2.3")

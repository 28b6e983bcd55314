"""Every Python package that the project asks for is pinned, in a version that it allows."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "deploy" / "images" / "requirements"
DEVELOPMENT = ROOT / "tools" / "requirements" / "dev.txt"
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
PIN = re.compile(r"^([a-z0-9-]+)==([^ ;]+)", re.MULTILINE)


def needed(*extras: str) -> list[str]:
    project = PYPROJECT["project"]
    optional = project["optional-dependencies"]
    return [*project["dependencies"], *(line for extra in extras for line in optional[extra])]


def of_development() -> list[str]:
    groups = PYPROJECT["dependency-groups"]
    return [*needed("cli", "operator"), *groups["dev"], *groups["docs"]]


def listed(name: str) -> list[str]:
    lines = (IMAGES / name).read_text().splitlines()
    return [line for line in lines if line and not line.startswith("#")]


# Each list of pins, and what asks for them.
WANTED = {
    IMAGES / "runner.txt": needed(),
    IMAGES / "operator.txt": needed("operator"),
    IMAGES / "build.txt": [*listed("build.in"), *PYPROJECT["build-system"]["requires"]],
    IMAGES / "node.txt": listed("node.in"),
    IMAGES / "aider.txt": listed("aider.in"),
    DEVELOPMENT: of_development(),
}
EACH = [pytest.param(path, id=path.name) for path in WANTED]


def test_every_list_of_pins_is_compared() -> None:
    overrides = IMAGES / "aider-overrides.txt"

    assert {*IMAGES.glob("*.txt"), DEVELOPMENT} - {overrides} == WANTED.keys()


@pytest.mark.parametrize("path", EACH)
def test_what_is_asked_for_is_pinned_in_a_version_that_is_allowed(path: Path) -> None:
    pinned = dict(PIN.findall(path.read_text()))

    for line in WANTED[path]:
        item = Requirement(line)
        name = canonicalize_name(item.name)
        assert name in pinned, f"{line} is not in {path.name}: run `make requirements`"
        assert item.specifier.contains(pinned[name]), f"{line}: {path.name} has {pinned[name]}"


@pytest.mark.parametrize("path", EACH)
def test_a_list_of_pins_has_a_hash_of_every_package_and_names_no_host(path: Path) -> None:
    text = path.read_text()

    entries = re.split(r"\n(?=[^\s#])", f"\n{text}")[1:]
    assert entries
    assert [entry for entry in entries if "--hash=sha256:" not in entry] == []
    assert "://" not in text

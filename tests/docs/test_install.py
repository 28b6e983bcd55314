"""The page on installing promises what the chart, the images and the commands have."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "install.md").read_text()
VALUES = yaml.safe_load((ROOT / "charts" / "afresh" / "values.yaml").read_text())
SETTING = re.compile(r'--set(?:-string)? "?([A-Za-z.]+)=')


def leaves(node: Any, where: str = "") -> Iterator[tuple[str, str]]:
    """Each value of the chart with its default, as the page writes them."""
    if isinstance(node, dict) and node:
        for key, value in node.items():
            yield from leaves(value, f"{where}.{key}".lstrip("."))
        return
    yield where, str(node)


def rows(section: str) -> list[list[str]]:
    """The rows of the first table of a section; each cell without its back-quotes."""
    text = PAGE.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    table = next(part for part in text.strip().split("\n\n") if part.startswith("|"))
    lines = table.splitlines()[2:]
    return [[cell.strip().strip("`") for cell in line.strip("|").split("|")] for line in lines]


def test_the_values_of_the_table_are_the_charts_with_its_defaults() -> None:
    known = dict(leaves(VALUES)) | {"image.tag": "the chart's version"}

    documented = {row[0]: row[1] for row in rows("Operator")}
    assert documented
    assert {name: str(known.get(name)).lower() for name in documented} == {
        name: default.lower() for name, default in documented.items()
    }


def test_every_value_that_a_command_sets_is_one_of_the_chart() -> None:
    known = dict(leaves(VALUES))

    named = set(SETTING.findall(PAGE + (ROOT / "README.md").read_text()))
    assert "image.registry" in named
    assert named <= known.keys()


def test_the_pages_ask_for_the_same_helm_and_for_none_newer_than_the_one_that_the_tests_run() -> (
    None
):
    modules = "".join(
        path.read_text() for path in sorted((ROOT / "tools" / "singlenode").rglob("go.mod"))
    )
    (run,) = set(re.findall(r"helm\.sh/helm/v\d+ v(\S+)", modules))
    support = (ROOT / "docs" / "reference" / "support.md").read_text()
    (oldest,) = re.findall(r"^\| Helm \| \S+ \| (\d+\.\d+) and newer\b", support, re.MULTILINE)

    assert version_of(oldest) < version_of(run)
    for page in (PAGE, (ROOT / "docs" / "quick-start.md").read_text()):
        assert re.findall(r"\bHelm (\S+) or newer\b", page) == [oldest]


def version_of(text: str) -> tuple[int, ...]:
    """The numbers of a version."""
    return tuple(int(number) for number in text.split("."))


def test_every_image_of_the_table_has_a_dockerfile() -> None:
    images = [row[0] for row in rows("Images")]

    assert images
    for image in images:
        assert (ROOT / "deploy" / "images" / image / "Dockerfile").is_file(), image


def test_the_page_has_every_variable_of_make_images_and_no_other() -> None:
    makefile = (ROOT / "Makefile").read_text()
    recipe = makefile.partition("\nimages: ")[2].partition("\n\n")[0]

    told = re.findall(r"^\| `([A-Z]+)(?:=1)?` \|", PAGE, re.MULTILINE)
    assert told
    assert sorted(told) == sorted(re.findall(r'"\$\((\w+)\)"', recipe))


def test_the_commands_that_are_linked_are_what_the_distribution_installs() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

    assert set(re.findall(r"bin/(\S*afresh)\b(?=[^\n]*~/\.local/bin/\n)", PAGE)) == set(
        project["scripts"]
    )
    assert "cli" in project["optional-dependencies"]

"""What STYLE.md says is enforced and no linter has: sizes, names, module docstrings."""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.project.makefile import ROOT

MOST_LINES = 500
LONGEST_FUNCTION = 60
VAGUE_MODULES = {"utils.py", "helpers.py", "common.py", "base.py"}
VAGUE_CLASS = re.compile(r"\w*(Manager|Helper|Service|Processor|Engine)")
# Stands for somebody's own repository.
SAMPLES = ("tools/gitserver/project", "tools/fakemodel/replies")


def product() -> list[Path]:
    places = ("controller", "deploy", "tools")
    found = [path for place in places for path in (ROOT / place).rglob("*.py")]
    samples = (*(ROOT / sample for sample in SAMPLES), *ROOT.glob("tools/*/tests"))
    return sorted(path for path in found if not any(map(path.is_relative_to, samples)))


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = function.body[1:2] if ast.get_docstring(function) else function.body[:1]
    start = first[0].lineno if first else function.lineno
    return (function.end_lineno or start) - start + 1


PRODUCT = product()
each_module = pytest.mark.parametrize("path", PRODUCT, ids=lambda path: str(path.relative_to(ROOT)))


def test_the_product_was_found() -> None:
    assert len(PRODUCT) > 100


@each_module
def test_a_module_is_short_has_a_docstring_and_a_name_that_says_something(path: Path) -> None:
    text = path.read_text()

    assert text.count("\n") <= MOST_LINES
    assert path.name not in VAGUE_MODULES
    assert not re.search(r"\b(TODO|FIXME)\b", text)
    if text.strip():
        assert ast.get_docstring(ast.parse(text))


@each_module
def test_functions_are_short_and_classes_have_names_that_say_something(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            assert code_lines(node) <= LONGEST_FUNCTION, node.name
        if isinstance(node, ast.ClassDef):
            assert not VAGUE_CLASS.fullmatch(node.name), node.name


def test_every_file_of_tests_is_in_a_folder_that_a_run_collects() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]
    collected = [path for glob in settings["ini_options"]["testpaths"] for path in ROOT.glob(glob)]
    found = [path for place in ("tests", "tools") for path in (ROOT / place).rglob("test_*.py")]

    places = [*collected, *(ROOT / sample for sample in SAMPLES)]
    assert [path for path in found if not any(map(path.is_relative_to, places))] == []


def public_classes(text: str) -> Iterator[ast.ClassDef]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield node


def test_every_public_class_has_a_name_of_its_own() -> None:
    places = defaultdict(list)
    for path in PRODUCT:
        for node in public_classes(path.read_text()):
            places[node.name].append(f"{path.relative_to(ROOT)}:{node.lineno}")

    assert {name: found for name, found in places.items() if len(found) > 1} == {}

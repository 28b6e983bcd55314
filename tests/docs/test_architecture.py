"""The page on the architecture names files and what is in them; both are there."""

import ast
import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

CODE = ROOT / "controller/afresh"
PAGE = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)(?::(\w+))?`", PAGE)))
ROOMS = re.findall(r"^\| `([\w/]+)` \|", PAGE, re.MULTILINE)


def defined_in(file: Path) -> set[str]:
    """What a module defines at its top."""
    found = set()
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
                found.add(name)
            case ast.ClassDef(name=name):
                found.add(name)
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                found.add(name)
    return found


@pytest.mark.parametrize(("file", "name"), NAMED)
def test_a_hop_of_the_page_on_the_architecture_is_in_the_code(file: str, name: str) -> None:
    assert not name or name in defined_in(CODE / file)
    assert (CODE / file).is_file()


def test_every_room_of_the_product_has_its_row() -> None:
    rooms = {item.parent.name for item in CODE.glob("*/__init__.py")}

    assert rooms - set(ROOMS) == set()
    assert all((CODE / room).is_dir() for room in ROOMS)


@pytest.mark.parametrize("stage", sorted((CODE / "episode/stages").glob("[a-z]*.py")))
def test_every_stage_has_one_entry(stage: Path) -> None:
    assert "run" in defined_in(stage)

"""No module of the product imports, by way of others, itself: not even where an import is late."""

import ast
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONTROLLER = ROOT / "controller"


def test_no_modules_import_each_other() -> None:
    assert circle({name: set(imports(name, path)) for name, path in modules().items()}) == []


def test_a_late_import_is_seen_and_one_for_types_alone_is_not(tmp_path: Path) -> None:
    late = tmp_path / "late.py"
    late.write_text(
        "from typing import TYPE_CHECKING\n"
        "if TYPE_CHECKING:\n    from afresh.kube.loop import Loop\n"
        "def ask():\n    from afresh.kube import client\n"
    )

    assert set(imports("afresh.late", late)) == {"afresh.kube.client"}
    assert circle({"a": {"b"}, "b": {"a"}}) != []


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Return the modules of one circle, in order; nothing if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@cache
def modules() -> dict[str, Path]:
    found = {}
    for path in (CONTROLLER / "afresh").rglob("*.py"):
        parts = path.relative_to(CONTROLLER).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


def imports(name: str, path: Path) -> Iterator[str]:
    """Yield the modules that a file imports when it is loaded, or later."""
    known = modules()
    for node in walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            inner = {f"{node.module}.{alias.name}" for alias in node.names} & known.keys()
            yield from (inner or {node.module}) - {name}


def walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield what is in a node, but for what is there for types alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING":
            continue
        yield child
        yield from walk(child)

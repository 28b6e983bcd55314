"""Finds the sentences in the code that reach a user: a new one cannot be left out of the table.

Goes by the source: a text that begins with a capital letter or a value and ends in a full stop is
a sentence. Docstrings and what is logged are none. Constants of its module are put in.
"""

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

CODE = Path(__file__).resolve().parents[2] / "controller/afresh"
PACKAGES = ("adapters", "core", "episode", "kube")
# Their sentences are for somebody else.
FOR_OTHERS = {
    "adapters/adapter.py": "the brief",
    "adapters/aider.py": "the brief",
    "core/reason_table.py": "a page of the documentation",
    "episode/gateway/agent_connection.py": "the agent program",
    "episode/gateway/agent_request.py": "the agent program",
    "episode/gateway/forward.py": "the agent program",
    "episode/gateway/meter.py": "the agent program",
    "episode/gateway/request_body.py": "the agent program",
    "episode/gateway/request_head.py": "the agent program",
    "kube/kubeconfig.py": "who starts the operator",
}
LOGGERS = frozenset({"say", "debug", "info", "warning", "error", "exception"})
HOLE = "\0"
_PLACE = re.compile(r"\{\w*\}")
_SENTENCE = re.compile(rf"(?:[A-Z]|{HOLE}).*\w.*[^.]\.", re.DOTALL)
LEAST_WORDS = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Sentence:
    """A sentence of the code; HOLE stands for each value in it."""

    where: str
    text: str

    @property
    def is_fixed(self) -> bool:
        """Whether it is the same whatever happens."""
        return HOLE not in self.text

    def is_in(self, message: str) -> bool:
        """Whether the message can have been made of it."""
        parts = map(re.escape, self.text.split(HOLE))
        return re.search(".*".join(parts), message, re.DOTALL) is not None

    def begins(self, shown: str) -> bool:
        """Whether what is shown can be all of it up to what to do."""
        what = self.text.partition("; ")[0]
        parts = map(re.escape, what.split(HOLE))
        return re.fullmatch(".*".join(parts) + ";", shown, re.DOTALL) is not None


@cache
def sentences() -> tuple[Sentence, ...]:
    """Return the sentences of all modules whose messages reach a user."""
    return tuple(
        Sentence(where=f"{name}: {text[:60]}".replace(HOLE, "_"), text=text)
        for package in PACKAGES
        for path in sorted((CODE / package).rglob("*.py"))
        if (name := str(path.relative_to(CODE))) not in FOR_OTHERS
        for text in dict.fromkeys(_texts(ast.parse(path.read_text()), _module_of(path)))
        if _SENTENCE.fullmatch(text) and len(text.split()) >= LEAST_WORDS
    )


def _module_of(path: Path) -> ModuleType:
    name = path.relative_to(CODE.parent).with_suffix("").as_posix().replace("/", ".")
    return importlib.import_module(name.removesuffix(".__init__"))


def _texts(node: ast.AST, module: ModuleType) -> Iterator[str]:
    for child in ast.iter_child_nodes(node):
        if _is_docstring(child) or _is_logged(child):
            continue
        if isinstance(child, ast.JoinedStr):
            yield "".join(_part(value, module) for value in child.values)
        elif isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield _PLACE.sub(HOLE, child.value)
        else:
            yield from _texts(child, module)


def _part(value: ast.expr, module: ModuleType) -> str:
    if isinstance(value, ast.Constant):
        return str(value.value)
    known: Any = module
    if isinstance(value, ast.FormattedValue):
        for name in ast.unparse(value.value).split("."):
            known = getattr(known, name, None)
    return str(known) if isinstance(known, str | int) else HOLE


def _is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_logged(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in LOGGERS
    )

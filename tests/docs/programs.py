"""What each program that the pages call must be able to make of its words.

Each check takes the words after the program's name and raises AssertionError. The project's own
program parses them; of others, subcommands and options are asked of the program itself.
"""

import re
import subprocess
import tomllib
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise, takewhile

import click
import pytest

from afresh.api.crd import KINDS
from afresh.cli.commands import afresh
from tests.docs.pages import ROOT
from tools.singlenode import binaries

Words = Sequence[str]
_MAKEFILE = (ROOT / "Makefile").read_text()
_OPTION = re.compile(r"(?<![\w-])(--?[a-zA-Z][\w-]*)")
_RESOURCES = {
    "ns", "namespace", "namespaces", "node", "nodes", "pod", "pods", "job", "jobs", "deployment",
    "deployments", "secret", "secrets", "service", "services", "crd", "networkpolicies", "events",
    "role", "rolebinding", "clusterrole", "clusterrolebinding", "configmap", "quota", "lease",
    "localqueue", "clusterqueue", "workloads", "runtimeclass", "priorityclass", "pvc", "all",
}  # fmt: skip
_OURS = {
    name
    for kind in KINDS
    for name in (kind.plural, kind.short_name, kind.name.lower(), f"{kind.plural}.afresh.dev")
}
_WITH_RESOURCE = {"get", "describe", "delete", "patch", "annotate", "label", "wait", "explain"}
# How many words are the subcommand; for all others it is one.
_DEPTHS = {
    ("kubectl", "create"): 2, ("kubectl", "create", "secret"): 3, ("kubectl", "auth"): 2,
    ("kubectl", "rollout"): 2, ("kubectl", "config"): 2, ("helm", "get"): 2, ("helm", "show"): 2,
}  # fmt: skip
_GIT = {"clone", "fetch", "log", "show", "ls-remote", "push", "diff", "merge", "rev-parse"}


def check_make(words: Words) -> None:
    for word in words:
        name, is_variable, _ = word.partition("=")
        if is_variable:
            assert f"$({name})" in _MAKEFILE or f"{name} ?=" in _MAKEFILE, f"make knows no {name}"
        elif not word.startswith("-"):
            assert re.search(rf"^{re.escape(word)}:", _MAKEFILE, re.MULTILINE), f"no target {word}"


def check_afresh(words: Words) -> None:
    """Parse the words as the program does, and run nothing."""
    context = click.Context(afresh, info_name="afresh", **afresh.context_settings)
    left = list(words)
    while isinstance(context.command, click.Group) and not {"--help", "-h"} & {*left[:1]}:
        name, command, left = context.command.resolve_command(context, left)
        assert command is not None
        # Completing asks no cluster; everything else is parsed when the context is made.
        context = (
            click.Context(command, info_name=name, parent=context)
            if isinstance(command, click.Group)
            else command.make_context(name, left, parent=context)
        )


def check_kubectl(words: Words) -> None:
    if words[0] == "afresh":
        check_afresh(words[1:])
        return
    known = _options("kubectl", ("options",)) | _subcommand_options("kubectl", words)
    _check_options(words, known)
    if words[0] in _WITH_RESOURCE:
        named = [word for word in _bare(words[1:]) if word != "-"]
        if named and "-f" not in words:
            for resource in named[0].split(","):
                kind = resource.split("/")[0].split(".")[0]
                assert kind in _RESOURCES | _OURS, f"kubectl knows no {resource}"


def check_helm(words: Words) -> None:
    _check_options(words, _subcommand_options("helm", words))
    for word in words:
        if word.startswith("charts/"):
            assert (ROOT / word / "Chart.yaml").is_file(), f"there is no chart {word}"


def check_git(words: Words) -> None:
    assert words[0] in _GIT, f"git {words[0]}: say in tests/docs/programs.py that it is there"


def check_docker(words: Words) -> None:
    assert words[0] in {"build", "push", "pull", "save", "load", "tag"}
    for flag, value in pairwise(words):
        if flag == "-f" and "$" not in value:
            assert (ROOT / value).is_file(), f"there is no {value}"


def check_pip(words: Words) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    for word in words:
        if found := re.search(r"\[(.*)\]$", word):
            assert found[1] in extras, f"there is no extra {found[1]}"


def check_python(words: Words) -> None:
    if words[0] != "-m":
        assert (ROOT / words[0]).exists(), f"there is no {words[0]}"


def check_nothing(_: Words) -> None:
    """Every system has the program, and what it is given is the reader's own."""


CHECKS: dict[str, Callable[[Words], None]] = {
    "make": check_make,
    "afresh": check_afresh,
    "kubectl": check_kubectl,
    "helm": check_helm,
    "git": check_git,
    "docker": check_docker,
    "pip": check_pip,
    "python3": check_python,
    **dict.fromkeys(("cat", "cd", "curl", "grep", "export", "kind", "ln", "mkdir"), check_nothing),
    **dict.fromkeys(("rm", "sed", "sort", "source"), check_nothing),
    **dict.fromkeys(("ssh-keygen", "ssh-keyscan"), check_nothing),
}  # fmt: skip


def _bare(words: Words) -> list[str]:
    """The words that are neither options nor, as far as one can tell, their values."""
    kept, is_value = [], False
    for word in words:
        if not is_value and not word.startswith("-"):
            kept.append(word)
        is_value = word in ("-n", "-l", "-o", "-p", "-c", "--namespace", "--type")
    return kept


def _is_bare(word: str) -> bool:
    return not word.startswith("-")


def _check_options(words: Words, known: set[str]) -> None:
    for word in words:
        if word == "--":
            return
        option = word.split("=")[0]
        if word.startswith("-") and len(word) > 1:
            assert option in known, f"unknown option {option}"


def _subcommand_options(program: str, words: Words) -> set[str]:
    """The options of `PROGRAM SUB`, `PROGRAM SUB SUBSUB` and so on, which must exist."""
    outer = _DEPTHS.get((program, *words[:1]), 1)
    depth = _DEPTHS.get((program, *words[:2]), outer)
    return _options(program, tuple(takewhile(_is_bare, words[:depth])))


@cache
def _options(program: str, subcommand: tuple[str, ...]) -> set[str]:
    path = binaries.path(program)
    if not path.exists():
        pytest.skip(f"{program} is not built: run `python3 tools/singlenode install`")
    arguments = [*subcommand] if subcommand == ("options",) else [*subcommand, "--help"]
    done = subprocess.run([path, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    shown = " ".join((program, *subcommand))
    assert shown in done.stdout or subcommand == ("options",), f"there is no {shown}"
    return set(_OPTION.findall(done.stdout))

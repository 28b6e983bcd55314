"""Every command that users may copy is one that its program can parse."""

import re
import subprocess
from itertools import pairwise
from pathlib import Path

import click
import pytest

from tests.docs import programs, shell
from tests.docs.pages import ROOT, Block, blocks
from tools.docsgen import cli_page
from tools.singlenode import binaries

SHELL = {"sh", "console", "bash", "shell"}
CONSOLE_PROMPT = "$ "


def shown_commands() -> list:
    return [
        pytest.param(block, words, id=f"{block.where}: {' '.join(words)[:60]}-{number}")
        for block in blocks()
        if block.language in SHELL
        for number, words in enumerate(shell.commands(typed(block)))
    ]


def typed(block: Block) -> str:
    """What is typed of a block: of a console, the lines after a prompt."""
    if block.language != "console":
        return block.commands
    lines = block.commands.splitlines()
    return "\n".join(line for line in lines if line.startswith(CONSOLE_PROMPT))


def shell_blocks() -> list:
    return [pytest.param(item, id=item.where) for item in blocks() if item.language in SHELL]


def check(words: list[str]) -> None:
    program = Path(words[0]).name
    assert program in programs.CHECKS, f"nobody checks {program}: see tests/docs/programs.py"
    programs.CHECKS[program](words[1:])


def fault(words: list[str]) -> str:
    """Return what its program has against a command."""
    try:
        check(words)
    except (AssertionError, click.UsageError) as error:
        return str(error) or repr(error)
    return ""


@pytest.mark.parametrize(("block", "words"), shown_commands())
def test_a_command_of_the_documentation_can_be_parsed_by_its_program(block, words) -> None:
    assert fault(words) == ""


@pytest.mark.parametrize("block", shell_blocks())
def test_a_block_of_commands_is_shell(block) -> None:
    done = subprocess.run(
        ["bash", "-n"], input=typed(block).replace(CONSOLE_PROMPT, ""), text=True,
        capture_output=True, check=False,
    )  # fmt: skip

    assert done.stderr == ""


@pytest.mark.parametrize(
    "block",
    [pytest.param(block, id=block.where) for block in blocks() if block.language in ("", "text")],
)
def test_a_block_that_does_not_say_its_language_hides_no_command(block) -> None:
    first = re.match(r"\w+", block.text)

    hidden = bool(first) and first[0] in programs.CHECKS and first[0] != "afresh"
    assert not hidden, "begin it with ```sh"


@pytest.mark.parametrize("example", cli_page.examples())
def test_an_example_in_a_commands_help_can_be_parsed_by_it(example) -> None:
    found = shell.commands(example)

    assert "afresh" in {words[0] for words in found}
    assert [fault(words) for words in found] == [""] * len(found)


def charts_with_values() -> list:
    return [
        pytest.param(block, words, id=f"{block.where} {number}")
        for block in blocks()
        if block.language in SHELL
        for number, words in enumerate(shell.commands(typed(block)))
        if words[0] == "helm" and words[1] in ("upgrade", "install", "template")
    ]


@pytest.mark.parametrize(("block", "words"), charts_with_values())
def test_the_values_that_a_helm_command_sets_are_taken_by_the_chart(block, words) -> None:
    if binaries.missing(["helm"]):
        pytest.skip("helm is not built: run `python3 tools/singlenode install`")
    sets = [
        expanded(value, block)
        for flag, value in pairwise(words)
        if flag in ("--set", "--set-string")
    ]
    chart = next(word for word in words if word.startswith("charts/"))

    done = subprocess.run(
        [binaries.path("helm"), "template", "afresh", ROOT / chart,
         *(word for value in sets for word in ("--set", value))],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def expanded(value: str, block: Block) -> str:
    for name, text in shell.variables(block.commands).items():
        value = value.replace(f"${name}", text)
    return re.sub(r"\$\w+", "x", value)


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        pytest.param("make demos", "no target demos", id="a target that make has not"),
        pytest.param("make demo MODELL=x", "knows no MODELL", id="a variable that make has not"),
        pytest.param("frobnicate", "nobody checks", id="a program that nobody checks"),
        pytest.param("kubectl get wps", "knows no wps", id="a resource that is not there"),
        pytest.param("kubectl get wp --nmaespace=x", "--nmaespace", id="an option of kubectl"),
        pytest.param("kubectl create packages x", "there is no", id="a subcommand of kubectl"),
        pytest.param("helm upgrade x charts/none", "no chart", id="a chart that is not there"),
        pytest.param("pip install '.[cil]'", "no extra cil", id="an extra that is not there"),
    ],
)
def test_a_wrong_command_is_found(command, complaint) -> None:
    (words,) = shell.commands(command)

    with pytest.raises(AssertionError, match=re.escape(complaint)):
        check(words)


@pytest.mark.parametrize(
    "command", ["afresh retyr x", "afresh report x --nmespace=y", "afresh skip x"]
)
def test_a_wrong_command_of_our_own_is_refused_by_the_program(command) -> None:
    (words,) = shell.commands(command)

    with pytest.raises(click.UsageError):
        check(words)


def test_a_block_is_cut_into_commands_as_a_shell_does() -> None:
    loop = "A=1 B=2\nfor x in p q; do\n  docker push $x  # pushes\ndone\n"
    text = f"{loop}kubectl get wp \\\n  -n a | sort > f\n"

    assert shell.commands(text) == [
        ["docker", "push", "$x"], ["kubectl", "get", "wp", "-n", "a"], ["sort"],
    ]  # fmt: skip
    assert shell.loop_words(text) == {"x": ["p", "q"]}
    assert shell.variables(text) == {"A": "1", "B": "2"}

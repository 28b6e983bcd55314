"""What holds of every command: help with an example; bad use is one sentence and exit code 2."""

import io
import re
from contextlib import redirect_stderr, redirect_stdout

import click
import pytest

from afresh.cli.__main__ import main
from afresh.cli.commands import afresh

COMMANDS = sorted(afresh.commands)
# Arguments with which a command would be used well, were it not for what the test adds.
WELL_USED = {
    "compare": ("a", "b"),
    "copy": ("a", "b"),
    "guide": ("p", "A", "Use JWT."),
    "skip": ("p", "A"),
    "conformance": ("image",),
}


def run(*arguments: str) -> tuple[int, str, str]:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = main(arguments)
    return code, out.getvalue(), err.getvalue()


def needed(name: str) -> list[str]:
    """The arguments that the command cannot do without."""
    return [
        item.make_metavar(click.Context(afresh.commands[name], **afresh.context_settings))
        for item in afresh.commands[name].params
        if isinstance(item, click.Argument) and item.required
    ]


def forms(name: str) -> list[str]:
    """The forms in which the command can write, in lower case."""
    found = [item for item in afresh.commands[name].params if "-o" in item.opts]
    return [choice.name.lower() for item in found for choice in item.type.choices]


def well_used(name: str) -> tuple[str, ...]:
    return WELL_USED.get(name, ("p",) if needed(name) else ())


def is_one_sentence(said: str) -> bool:
    return bool(re.fullmatch(r"error: [A-Z][^\n]*[^.\n]\.\n", said))


def test_program_names_in_its_help_every_command_with_what_it_does():
    code, out, _ = run("--help")

    assert code == 0
    for name in COMMANDS:
        assert re.search(rf"^  {name} +[A-Z].*[^.]\.$", out, re.MULTILINE), name


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_of_every_command_has_an_example_and_its_options(name: str, option: str):
    code, out, err = run(name, option)

    assert (code, err) == (0, "")
    assert re.search(rf"^  Example: afresh {name}\b", out, re.MULTILINE)
    assert all(len(line) <= 80 for line in out.split("\n"))


@pytest.mark.parametrize("name", COMMANDS)
def test_option_that_a_command_does_not_have_is_bad_use(name: str):
    code, out, err = run(name, *well_used(name), "--fly")

    assert (code, out) == (2, "")
    assert is_one_sentence(err), err
    assert "--fly" in err
    assert f"see afresh {name} --help." in err


@pytest.mark.parametrize("name", [name for name in COMMANDS if needed(name)])
def test_missing_argument_is_bad_use(name: str):
    code, out, err = run(name)

    assert (code, out) == (2, "")
    assert is_one_sentence(err), err
    assert needed(name)[0] in err


# A shell's script has one form.
@pytest.mark.parametrize("name", [name for name in COMMANDS if name != "completion"])
def test_every_command_that_tells_something_can_write_json(name: str):
    assert "json" in forms(name)


@pytest.mark.parametrize("name", [name for name in COMMANDS if forms(name)])
def test_form_that_there_is_not_is_bad_use_and_the_forms_are_named(name: str):
    code, out, err = run(name, *well_used(name), "-o", "papyrus")

    assert (code, out) == (2, "")
    assert is_one_sentence(err), err
    assert all(f"'{form}'" in err for form in forms(name))


@pytest.mark.parametrize(
    "name", [name for name in COMMANDS if "package" in str(needed(name)).lower()]
)
def test_name_that_no_package_can_have_is_bad_use(name: str):
    code, out, err = run(name, "p/status", *well_used(name)[1:])

    assert (code, out) == (2, "")
    assert is_one_sentence(err), err
    assert '"p/status" is not the name of a package' in err


@pytest.mark.parametrize("name", ["compare", "copy"])
def test_second_package_of_a_command_must_be_a_name_too(name: str):
    code, _, err = run(name, "a", "b?c")

    assert code == 2
    assert '"b?c" is not the name of a package' in err


def test_reason_that_there_is_not_is_bad_use_and_the_reasons_are_named():
    code, _, err = run("retry", "p", "A", "--because", "ugly")

    assert code == 2
    assert is_one_sentence(err), err
    assert "'rejected'" in err
    assert "'hallucination'" in err

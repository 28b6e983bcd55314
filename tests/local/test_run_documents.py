"""The file of a package: each thing that is wrong is found, with its line."""

import pytest
import yaml

from afresh.cli.local_run_documents import BadDocumentsError, read_documents
from tests.local.afresh_command import package, script_class

GOOD = yaml.safe_dump(package("T1"), sort_keys=False)
CLASS = yaml.safe_dump(script_class("true"), sort_keys=False)
BOMB = "a: &a [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{after}: &{after} [{', '.join([f'*{before}'] * 10)}]\n"
    for before, after in zip("abcdefg", "bcdefgh", strict=True)
)


def findings(text: str) -> list[str]:
    with pytest.raises(BadDocumentsError) as caught:
        read_documents(text, "p.yaml")
    return caught.value.findings


def test_package_and_its_class_are_found_in_any_order():
    found = read_documents(f"---\n{CLASS}---\n{GOOD}---\n", "p.yaml")

    assert found.package == package("T1")
    assert found.agent_class == script_class("true")


def test_date_stays_a_text():
    found = read_documents(GOOD.replace("title: T1", "title: 2026-01-02"), "p.yaml")

    assert found.package["spec"]["subtasks"][0]["title"] == "2026-01-02"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("", "p.yaml:1: kind: there is no WorkPackage", id="an empty file"),
        pytest.param("- a\n", "p.yaml:1: kind: one WorkPackage", id="a list"),
        pytest.param("kind: [a]\n", "p.yaml:1: kind: one WorkPackage", id="a kind that is a list"),
        pytest.param(f"{GOOD}---\nkind: Secret\n", "kind: one WorkPackage", id="another kind"),
        pytest.param(f"{GOOD}---\n{GOOD}", "kind: one WorkPackage", id="two packages"),
        pytest.param("a: b\n\tc: d\n", "p.yaml:2: ", id="a tab"),
        pytest.param("a: [b\n", "p.yaml:2: ", id="a list without its end"),
        pytest.param("kind: a\nkind: b\n", "p.yaml:2: kind: the key is there twice", id="twice"),
        pytest.param("1: a\n", "p.yaml:1: a key that is not a text", id="a number as a key"),
        pytest.param("a: !!binary aGk=\n", "p.yaml:1: the tag ", id="a tag"),
        pytest.param("a: &a [*a]\n", "nested too deeply", id="a list in itself"),
        pytest.param("a: " + "[" * 500 + "]" * 500, "p.yaml", id="deep nesting"),
        pytest.param("a: " + "[" * 90_000, "p.yaml", id="very deep nesting"),
        pytest.param(BOMB, "nested too deeply, or too many", id="many aliases"),
        pytest.param("a: \x00\n", "p.yaml: this is not YAML", id="a zero byte"),
        pytest.param("a" * (3 << 20), "p.yaml: the file is too large", id="a huge file"),
        pytest.param(
            GOOD.replace("name: demo", "name: a/demo"),
            "p.yaml:4: metadata.name: ",
            id="a name that leads out of its folder",
        ),
        pytest.param(
            f"{GOOD}---\n{CLASS.replace('name: script', 'name: other')}",
            "p.yaml:6: spec.agentClassName: this is not the name",
            id="a class of another name",
        ),
    ],
)
def test_what_is_wrong_is_found(text: str, want: str):
    found = findings(text)

    assert found[0].startswith(want) or want in found[0], found
    assert all("\n" not in line for line in found)


def test_unknown_dependency_is_said_in_the_words_of_the_api():
    text = GOOD.replace("title: T1", "title: T1\n    dependsOn: [T9]")

    (found,) = findings(text)

    assert "spec: dependsOn names a subtask that does not exist" in found

"""`afresh validate` says what the API server and the operator would, with lines, without them."""

import copy
import io
import json
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError

from afresh.api.agent_class import AgentClass
from afresh.api.work_package import WorkPackage
from afresh.cli.__main__ import main
from afresh.cli.manifest.checked_file import check_file
from afresh.cli.manifest.yaml_nodes import MAX_VALUES
from tests.api.acceptances import ACCEPTANCES
from tests.api.manifests import EXAMPLES, changed, entry, examples, minimal_package
from tests.api.refusal import Refusal
from tests.api.refusals import REFUSALS

GOOD = yaml.safe_dump(minimal_package(), sort_keys=False)
SEVERAL = """\
apiVersion: afresh.dev/v1alpha1
kind: WorkPackage
metadata:
  name: Demo_1
spec:
  agentClassName: claude
  repository:
    url: https://me:hunter2@git.example.com/a.git
    branch: main
  paralelism: 2
  verify:
    command: ["make test"]
  maxEpisodes: 1
  subtasks:
    - id: T001
      prompt: Add a token model.
      dependsOn: [T002]
    - id: T002
      promt: Add a view.
      dependsOn: [T001]
    - id: t002
      prompt: ""
      dependsOn: [T01]
"""


def run(*arguments: str) -> tuple[int, str, str]:
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = main(("validate", *arguments))
    return code, out.getvalue(), err.getvalue()


def lines(text: str | bytes) -> list[str]:
    content = text.encode() if isinstance(text, str) else text
    return [fault.as_text() for fault in check_file("f.yaml", content).faults]


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.id)
def test_manifest_that_the_server_refuses_has_one_error_with_its_field_and_sentence(
    refusal: Refusal,
) -> None:
    (line,) = lines(yaml.safe_dump(refusal.manifest(), allow_unicode=True))

    assert refusal.field in line
    assert refusal.sentence in line


@pytest.mark.parametrize(
    "changes", [item for item in ACCEPTANCES if not item.id.startswith("a cycle")]
)
def test_unusual_manifest_that_the_server_accepts_has_no_error(changes: dict[str, Any]) -> None:
    manifest = changed(minimal_package(), changes)

    assert lines(yaml.safe_dump(manifest, allow_unicode=True)) == []


@pytest.mark.parametrize("path", sorted(EXAMPLES.iterdir()), ids=lambda path: path.stem)
def test_example_has_no_error(path: Path) -> None:
    assert lines(path.read_bytes()) == []


def test_all_errors_of_a_file_are_told_at_once_with_their_lines() -> None:
    found = lines(SEVERAL)

    assert [line.split(": ")[0].removeprefix("f.yaml:") + " " + line.split(": ")[1]
            for line in found] == [
        "4 metadata.name",
        "8 spec.repository.url",
        "9 spec.repository.branch",
        "10 spec.paralelism",
        "12 spec.verify.command",
        "13 spec.maxEpisodes",
        "18 spec.subtasks[1].prompt",
        "19 spec.subtasks[1].promt",
        "20 spec.subtasks[1].dependsOn",
        "21 spec.subtasks[2].id",
        "22 spec.subtasks[2].prompt",
        "23 spec.subtasks[2].dependsOn[0]",
    ]  # fmt: skip
    assert "hunter2" not in "".join(found)


@pytest.mark.parametrize(
    ("line", "want"),
    [
        (10, 'unknown field; did you mean "parallelism"?'),
        (20, "the subtasks depend on each other in a circle: T001 -> T002 -> T001"),
        (19, 'unknown field; did you mean "prompt"?'),
        (23, '"T01": dependsOn names a subtask that does not exist: correct the id, or add it to'
             ' spec.subtasks; did you mean "T001"?'),
        (21, "the ids T002 and t002 differ only in case: rename one"),
    ],
)  # fmt: skip
def test_error_among_several_says_what_is_meant(line: int, want: str) -> None:
    (found,) = [item for item in lines(SEVERAL) if item.startswith(f"f.yaml:{line}: ")]

    assert found.endswith(want)


def test_two_cycles_are_both_named() -> None:
    pairs = [("A", "B"), ("B", "A"), ("C", "D"), ("D", "C")]
    subtasks = [entry(name, dependsOn=[other]) for name, other in pairs]

    found = lines(yaml.safe_dump(changed(minimal_package(), {"spec.subtasks": subtasks})))

    assert ["A -> B -> A" in line for line in found] == [True, False]
    assert ["C -> D -> C" in line for line in found] == [False, True]


LAUGHS = "a0: &a0 [x, x]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 20)
)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("", "f.yaml:1: the file is empty", id="empty file"),
        pytest.param("# nothing\n---\n", "f.yaml:1: the file is empty", id="only a comment"),
        pytest.param("a: 1\n\tb: 2\n", "f.yaml:2: a tab cannot indent YAML", id="tab"),
        pytest.param(b"a: 1\nb: \xff\xfe\n", "f.yaml:2: the text is not UTF-8", id="not UTF-8"),
        pytest.param("a: \x01", "f.yaml:1: there is a character that", id="control character"),
        pytest.param("a: [1,\n", "f.yaml:2: this is not YAML", id="open list"),
        pytest.param("a: !!python/object x", "f.yaml:1: the tag", id="tag of a language"),
        pytest.param("a: *b", "f.yaml:1: the alias *b has no anchor", id="unknown alias"),
        pytest.param("a: &a [*a]", "f.yaml:1: the alias *a contains itself", id="endless alias"),
        pytest.param("? [a]\n: b", "f.yaml:1: a key must be a text", id="list as a key"),
        pytest.param("[" * 100_000, "f.yaml:1: values are nested more", id="deep nesting"),
        pytest.param("- " * 100_000, "f.yaml:1: values are nested more", id="deep block nesting"),
        pytest.param(LAUGHS, f"more than {MAX_VALUES} values", id="billion laughs"),
        pytest.param("- a\n" * 300_000, f"more than {MAX_VALUES} values", id="long list"),
        pytest.param(b" " * 5_000_000, "f.yaml:1: the file is over 4 MiB", id="5 MB"),
        pytest.param("text", "f.yaml:1: an object is expected here", id="a text"),
        pytest.param("kind: WorkPackage", "apiVersion: Required value", id="no version"),
        pytest.param("apiVersion: afresh.dev/v1alpha1", "kind: Required value", id="no kind"),
        pytest.param(
            GOOD.replace("v1alpha1", "v1"), 'did you mean "afresh.dev/v1alpha1"?', id="version"
        ),
        pytest.param(
            GOOD.replace("WorkPackage", "Workpackages"), 'did you mean "WorkPackage"?', id="kind"
        ),
        pytest.param(
            "apiVersion: v1\nkind: Secret\nmetadata: {name: a}",
            "no object of afresh.dev/v1alpha1 is in the file",
            id="only a Secret",
        ),
        pytest.param(
            GOOD + "metadata:\n  name: other\n",
            "metadata: the key is there twice: see line 3, and remove one",
            id="duplicate key",
        ),
    ],
)
def test_file_that_is_no_manifest_has_one_error(text: str | bytes, want: str) -> None:
    (line,) = lines(text)

    assert want in line


def test_file_larger_than_any_is_not_read_to_its_end() -> None:
    code, out, _ = run("/dev/zero")

    assert (code, out.count("\n")) == (1, 1)
    assert "the file is over 4 MiB" in out


def test_documents_of_one_file_are_all_checked_and_others_kinds_are_named(tmp_path: Path) -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: key\n"
    file = tmp_path / "all.yaml"
    file.write_text(f"---\n{GOOD}---\n{secret}---\n")

    code, out, err = run(str(file))

    assert (code, err) == (0, "")
    assert out.splitlines() == [
        f"{file}: WorkPackage demo is valid.",
        f"{file}: Secret key is not checked: it is of no kind of Afresh.",
    ]
    file.write_text(f"{GOOD}---\n{GOOD.replace('demo', 'a.b')}")

    code, out, _ = run(str(file))

    assert code == 1
    assert out.startswith(f"{file}:{GOOD.count(chr(10)) + 5}: metadata.name: ")


def test_items_of_a_list_are_checked() -> None:
    bad = changed(minimal_package(), {"spec.parallelism": 0})

    (line,) = lines(yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": [bad]}))

    assert "spec.parallelism: Invalid value: 0: should be greater than or equal to 1" in line


def test_standard_input_is_read_for_a_hyphen_and_json_has_the_same_errors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SEVERAL.encode())))

    code, out, _ = run("-", "-o", "json")

    told = json.loads(out)
    assert (code, told["valid"]) == (1, False)
    assert [item["line"] for item in told["errors"]] == [
        int(line.split(":")[1]) for line in lines(SEVERAL)
    ]
    assert {item["file"] for item in told["errors"]} == {"stdin"}


def test_file_that_cannot_be_read_is_bad_use(tmp_path: Path) -> None:
    for name, why in ((str(tmp_path / "none"), "No such file"), (str(tmp_path), "directory")):
        code, out, err = run(name)

        assert (code, out) == (2, "")
        assert err.startswith(f"error: {name} cannot be read: ")
        assert why in err


def test_control_characters_of_a_file_do_not_reach_the_terminal() -> None:
    (line,) = lines(GOOD.replace("claude", '"a\\e[31m\\nb"'))

    assert line.isprintable()


WHOLE = [
    {key: value for key, value in manifest.items() if key != "status"}
    for name in ("work_package", "agent_class")
    for manifest in examples(name)
]
words = st.sampled_from(["id", "command", "url", "cpu", "limits", "x"]) | st.text(max_size=5)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 99_999) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)


def places(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """The paths of all values in a value."""
    if not isinstance(value, dict | list):
        return [path]
    inner = value.items() if isinstance(value, dict) else enumerate(value)
    return [path, *(found for key, item in inner for found in places(item, (*path, key)))]


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_any_value_anywhere_has_an_error_where_the_models_have_one_and_never_fails(
    data: st.DataObject,
) -> None:
    manifest = copy.deepcopy(data.draw(st.sampled_from(WHOLE)))
    model = WorkPackage if "subtasks" in manifest["spec"] else AgentClass
    *parents, last = data.draw(st.sampled_from(places(manifest)[1:]))
    node = manifest
    for parent in parents:
        node = node[parent]
    node[last] = data.draw(json_values)

    found = lines(json.dumps(manifest))

    # A default takes the place of a null.
    assert found or all(item["input"] is None for item in errors_of(model, manifest))


def errors_of(model: type[BaseModel], manifest: dict[str, Any]) -> list[Any]:
    try:
        model.model_validate(manifest)
    except ValidationError as error:
        return error.errors()
    return []


@settings(deadline=None, max_examples=100)
@given(st.text(alphabet="ab:- \n\t[]{}&*!|>'\"#%,?@`<1\x00é\x85\u2028\ufeff"))
def test_any_text_is_told_what_it_is(text: str) -> None:
    assert lines(text)

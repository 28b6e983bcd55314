"""`afresh apply` on a real API server: the difference first, and others' fields are kept."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.api.manifests import ABSENT, changed, entry, minimal_class, minimal_package
from tests.apiserver.commands import Afresh
from tests.apiserver.kubectl import Kubectl, Manifest

pytestmark = pytest.mark.apiserver


class Terminal(io.StringIO):
    """A person who has typed the text."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def package(tmp_path: Path) -> Any:
    """Write a package with changes to a file and return its path."""

    def write(changes: dict[str, Any] | None = None, *more: Manifest) -> str:
        path = tmp_path / "package.yaml"
        documents = [changed(minimal_package(), changes or {}), *more]
        path.write_text(yaml.safe_dump_all(documents))
        return str(path)

    return write


def test_new_package_is_shown_and_created_with_the_manager_of_the_command(
    package, afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    done = afresh("apply", "-f", package(), "--yes")

    assert (done.returncode, done.stderr) == (0, "")
    first, *shown, last = done.stdout.splitlines()
    assert first == f"WorkPackage demo in the namespace {namespace}: created"
    assert "+  agentClassName: claude" in shown
    assert last == "The file was applied."
    stored = kubectl("get", "wp", "demo", "-n", namespace, "-o", "json", "--show-managed-fields")
    managers = [item["manager"] for item in json.loads(stored)["metadata"]["managedFields"]]
    assert managers == ["afresh"]


def test_difference_has_what_changes_and_a_second_time_nothing_does(
    package, afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    afresh("apply", "-f", package({"spec.parallelism": 2}), "--yes")
    path = package({"spec.parallelism": 3})

    done = afresh("apply", "-f", path, "--yes")

    changes = [line for line in done.stdout.splitlines() if line[:1] in "+-"]
    assert changes == ["-  parallelism: 2", "+  parallelism: 3"]
    assert kubectl.get("wp", "demo", namespace)["spec"]["parallelism"] == 3
    again = afresh("apply", "-f", path, "--yes")
    assert again.stdout.splitlines() == [
        f"WorkPackage demo in the namespace {namespace}: unchanged",
        "Nothing is to be changed.",
    ]


def test_dry_run_changes_nothing(package, afresh: Afresh, kubectl: Kubectl, namespace: str) -> None:
    done = afresh("apply", "-f", package(), "--dry-run", "-o", "json")

    (item,) = json.loads(done.stdout)["objects"]
    assert (item["change"], item["namespace"]) == ("created", namespace)
    assert kubectl.run("get", "wp", "demo", "-n", namespace).returncode == 1


def test_guidance_given_since_is_kept_and_another_value_of_anothers_field_is_refused(
    package, afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    afresh("apply", "-f", package(), "--yes")
    assert afresh("guide", "demo", "T001", "Use JWT.").returncode == 0

    done = afresh("apply", "-f", package({"spec.parallelism": 2}), "--yes")

    assert done.returncode == 0
    (subtask,) = kubectl.get("wp", "demo", namespace)["spec"]["subtasks"]
    assert (subtask["guidance"], subtask["revision"]) == (["Use JWT."], 1)

    theirs = {"spec.subtasks": [entry("T001", prompt="Add a token model.", revision=7)]}
    done = afresh("apply", "-f", package(theirs), "--yes")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        'error: WorkPackage demo: spec.subtasks[id="T001"].revision was set by afresh-cli, and the'
        " file wants another value: take over theirs into the file, or overrule it with kubectl"
        " apply --server-side --force-conflicts.\n"
    )


def test_class_of_the_same_file_is_applied_first(
    package, afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    name = f"{namespace}-class"
    path = package({"spec.agentClassName": name}, minimal_class(name))

    done = afresh("apply", "-f", path, "--yes")

    assert done.returncode == 0
    assert done.stdout.splitlines()[0] == f"AgentClass {name}: created"
    kubectl("delete", "ac", name)


SECRET = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "key"}}


@pytest.mark.parametrize(
    ("documents", "want"),
    [
        ([{"spec.verify": ABSENT}], "has errors, and nothing was applied: fix them."),
        ([{}, SECRET], "has the Secret key, and only WorkPackages and AgentClasses can be applied"),
        ([{"metadata.namespace": "nowhere"}], "There is no namespace nowhere: create it"),
    ],
)
def test_file_that_cannot_be_applied_is_told_in_a_sentence_and_changes_nothing(
    documents: list[Manifest], want: str, package, afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    done = afresh("apply", "-f", package(*documents), "--yes")

    assert done.returncode == 1
    assert want in done.stderr
    assert kubectl.run("get", "wp", "demo", "-n", namespace).returncode == 1


def test_immutable_field_is_refused_with_the_words_of_the_rule(
    package, afresh: Afresh, namespace: str
) -> None:
    afresh("apply", "-f", package(), "--yes")

    path = package({"spec.repository.url": "https://git.example.com/team/other.git"})
    done = afresh("apply", "-f", path, "--yes")

    assert done.returncode == 1
    assert "url, baseRef and branch of spec.repository cannot be changed" in done.stderr


def test_without_a_terminal_and_an_answer_nothing_is_asked_of_the_cluster(
    package, afresh: Afresh, namespace: str
) -> None:
    done = afresh("apply", "-f", package())

    assert (done.returncode, done.stdout) == (2, "")
    assert "There is no terminal to ask on: add --yes, or --dry-run" in done.stderr


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 130), ("", 130)])
def test_on_a_terminal_a_person_sees_the_difference_and_decides(
    answer: str, code: int, package, afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("sys.stdin", Terminal(f"{answer}\n"))

        done = afresh("apply", "-f", package())

    assert done.returncode == code
    assert "+  agentClassName: claude" in done.stdout
    assert "Apply this? [y/N]: " in done.stderr
    found = kubectl.run("get", "wp", "demo", "-n", namespace)
    assert (found.returncode == 0) is (answer == "y")

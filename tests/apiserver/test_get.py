"""`afresh get` and `afresh version` on a real API server."""

import json
from pathlib import Path

import pytest
import yaml

from afresh import __version__
from tests.api.manifests import entry, minimal_class
from tests.apiserver.commands import Afresh, apply, run_afresh, set_status
from tests.apiserver.kubectl import Kubectl

pytestmark = pytest.mark.apiserver


def words(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_get_prints_the_columns_of_the_crd(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    nothing = afresh("get")
    apply(kubectl, namespace, entry("T1"))
    set_status(kubectl, namespace, "Stalled", cost="$0.12")

    plain, wide, everywhere = afresh("get"), afresh("get", "-o", "wide"), afresh("get", "-A")

    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert nothing.stderr == f"There is no WorkPackage in the namespace {namespace}.\n"
    assert words(plain.stdout)[0] == [
        "NAME", "PHASE", "PROGRESS", "CURRENT", "REASON", "COST", "AGE",
    ]  # fmt: skip
    assert words(plain.stdout)[1][:3] == ["demo", "Stalled", "0/1"]
    assert words(wide.stdout)[0][-4:] == ["CLASS", "BRANCH", "DURATION", "MESSAGE"]
    assert wide.stdout.rstrip().endswith("It is Stalled.")
    assert [namespace, "demo", "Stalled"] in [row[:3] for row in words(everywhere.stdout)]


def test_get_prints_objects_as_they_are_stored(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    want = apply(kubectl, namespace, entry("T1"))

    one = yaml.safe_load(afresh("get", "wp", "demo", "-o", "yaml").stdout)
    many = json.loads(afresh("get", "workpackages", "-o", "json").stdout)

    assert one == want
    assert (many["kind"], many["items"]) == ("List", [want])
    assert afresh("get", "-o", "name").stdout == "workpackage.afresh.dev/demo\n"


def test_get_finds_a_class_whose_name_has_a_dot(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    kubectl.apply(minimal_class("claude.v2"), namespace)
    try:
        done = afresh("get", "classes", "claude.v2", "-o", "name")
    finally:
        kubectl("delete", "ac", "claude.v2")

    assert (done.stdout, done.stderr) == ("agentclass.afresh.dev/claude.v2\n", "")


def test_get_and_status_show_only_what_has_the_labels(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1"))
    kubectl("label", "wp", "demo", "-n", namespace, "team=a")

    none = afresh("status", "-l", "team=b").stdout
    assert afresh("get", "-l", "team=a", "-o", "name").stdout == "workpackage.afresh.dev/demo\n"
    assert afresh("get", "-l", "team!=a", "-o", "name").stdout == ""
    assert afresh("status", "-l", "team=a", "-o", "name").stdout == "workpackage.afresh.dev/demo\n"
    assert "There is no WorkPackage with the labels team=b" in none
    assert afresh("get", "-l", "team=(").returncode == 1


def test_get_of_what_is_not_there_is_one_sentence(afresh: Afresh, namespace: str) -> None:
    done = afresh("get", "st", "absent")

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"error: There is no Subtask absent in the namespace {namespace}; see afresh get subtasks"
        f" -n {namespace}.\n"
    )


def test_status_in_other_forms_has_the_same_facts(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1", title="Token model"))
    set_status(kubectl, namespace, "Stalled")

    as_json = json.loads(afresh("status", "demo", "-o", "json").stdout)
    as_yaml = yaml.safe_load(afresh("status", "demo", "-o", "yaml").stdout)
    wide = afresh("status", "-o", "wide").stdout.splitlines()

    as_json.pop("ageSeconds")
    as_yaml.pop("ageSeconds")
    assert as_yaml == as_json
    assert wide[0].split()[-2:] == ["CLASS", "BRANCH"]


def test_version_prints_what_is_installed(kubeconfig: Path) -> None:
    done = run_afresh("version", "-o", "json", "--kubeconfig", str(kubeconfig))

    found = json.loads(done.stdout)
    assert (found["version"], found["operator"]) == (__version__, "(not installed)")
    assert found["crds"] == "(no version label)"
    assert found["kubernetes"].startswith("v1.")

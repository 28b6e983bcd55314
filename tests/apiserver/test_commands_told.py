"""What the commands of `afresh` tell: reports, refusals, and whose rights and cluster they use."""

import json
from pathlib import Path
from typing import Any

import pytest

from afresh.contract.pod_layout import LABEL_PACKAGE
from tests.api.manifests import changed, entry, minimal_package
from tests.apiserver.commands import Afresh, apply, run_afresh, spec_of, write_kubeconfig
from tests.apiserver.kubectl import Kubectl, Manifest

pytestmark = pytest.mark.apiserver


def test_change_that_the_api_server_refuses_is_reported_with_its_message(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    before = apply(kubectl, namespace, entry("T1", revision=1_000_000))

    done = afresh("retry", "demo", "T1")

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "spec.subtasks[0].revision" in done.stderr
    assert "less than or equal to 1000000" in done.stderr
    assert spec_of(kubectl, namespace) == before["spec"]


def test_package_that_does_not_exist_is_reported_with_where_to_look(
    afresh: Afresh, namespace: str
) -> None:
    done = afresh("suspend", "other")

    assert done.returncode == 1
    assert done.stderr == (
        f"error: There is no WorkPackage other in the namespace {namespace};"
        f" see kubectl get wp -n {namespace}.\n"
    )


def test_person_without_rights_gets_the_api_servers_message(
    kubeconfig: Path, kubectl: Kubectl, namespace: str, tmp_path: Path
) -> None:
    apply(kubectl, namespace, entry("T1"))
    kubectl("create", "serviceaccount", "visitor", "-n", namespace)
    token = kubectl("create", "token", "visitor", "-n", namespace).strip()
    theirs = write_kubeconfig(tmp_path, kubeconfig, user={"token": token}, namespace=namespace)

    done = run_afresh("skip", "demo", "T1", "--kubeconfig", str(theirs))

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        'error: workpackages.afresh.dev "demo" is forbidden: User'
        f' "system:serviceaccount:{namespace}:visitor" cannot get resource "workpackages" in API'
        f' group "afresh.dev" in the namespace "{namespace}"\n'
    )


def test_namespace_is_the_contexts_where_none_is_named(
    kubeconfig: Path, kubectl: Kubectl, namespace: str, tmp_path: Path
) -> None:
    apply(kubectl, namespace, entry("T1"))
    theirs = write_kubeconfig(tmp_path, kubeconfig, namespace=namespace)

    done = run_afresh("suspend", "demo", "--kubeconfig", str(theirs), "--context", "theirs")

    assert (done.returncode, done.stderr) == (0, "")
    assert spec_of(kubectl, namespace)["suspend"] is True


def test_cluster_without_the_crds_gets_a_message_that_names_them(
    kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    theirs = write_kubeconfig(tmp_path, kubeconfig, namespace=namespace, path="/nothing/here")

    done = run_afresh("suspend", "demo", "--kubeconfig", str(theirs))

    assert done.stderr == "error: This cluster has no WorkPackages: install Afresh on it.\n"


def test_report_has_the_status_and_why_git_could_not_read_the_branch(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1", title="Token model"), goal="Tokens.")
    review = {"id": "T1", "reason": "Blocked", "message": "Which key?\x1b[2J"}
    kubectl.patch_status("wp", "demo", namespace, {"phase": "NeedsReview", "reviews": [review]})

    markdown = afresh("report", "demo")
    output = json.loads(afresh("report", "demo", "-o", "json").stdout)

    assert (markdown.returncode, markdown.stderr) == (0, "")
    assert "### T1: Blocked\n\n> Which key?\n" in markdown.stdout
    assert "cannot be read: git says: fatal: unable to access" in markdown.stdout
    assert output["waiting"][0]["message"] == "Which key?"
    assert output["subtasks"][0]["title"] == "Token model"


def test_report_has_the_attempts_of_the_packages_own_subtasks_in_every_form(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1", title="Token model"))
    attempt = {
        "number": 1, "outcome": "Success", "summary": "It issues tokens.",
        "startTime": "2026-03-01T09:00:00Z", "completionTime": "2026-03-01T09:00:42Z",
        "usage": {"inputTokens": 1200, "costUSD": "0.42"}, "warnings": ["A <vague> name."],
    }  # fmt: skip
    for package in ("demo", "other"):
        kubectl.apply(subtask_of(package), namespace)
        kubectl.patch_status("st", f"{package}-t1", namespace, {"attempts": [attempt]})
        attempt = {**attempt, "summary": "Of another package."}
    done = {"id": "T1", "phase": "Done", "marker": "[x]", "attempts": 1, "costUSD": "0.42"}
    kubectl.patch_status("wp", "demo", namespace, {"phase": "Succeeded", "subtasks": [done]})

    markdown = afresh("report", "demo").stdout
    page = afresh("report", "demo", "-o", "html").stdout
    output = json.loads(afresh("report", "demo", "-o", "json").stdout)

    assert "- T1: It issues tokens." in markdown
    assert "- T1: A \\<vague> name." in markdown
    assert page.startswith("<!DOCTYPE html>")
    assert "attempt 1: Success, 42 s" in page
    assert "A &lt;vague&gt; name." in page
    assert output["subtasks"][0]["history"][0]["costUSD"] == 0.42
    assert "Of another package." not in markdown + page + json.dumps(output)


CHANGES: list[Any] = [
    pytest.param(("guide", "demo", "T1", "Use JWT."),
                 {"spec": {"subtasks": [{"id": "T1", "revision": 2, "revisionReason": None,
                                         "guidance": ["Use JWT."]}]}}, id="guide"),
    pytest.param(("retry", "demo", "T1", "--because", "hallucination"),
                 {"spec": {"subtasks": [{"id": "T1", "revision": 2,
                                         "revisionReason": "Hallucination"}]}}, id="retry"),
    pytest.param(("skip", "demo", "T1"), {"spec": {"subtasks": [{"id": "T1", "skip": True}]}},
                 id="skip"),
    pytest.param(("suspend", "demo"), {"spec": {"suspend": True}}, id="suspend"),
    pytest.param(("resume", "demo"), {}, id="resume what is not suspended"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "want"), CHANGES)
def test_change_as_json_has_the_fields_that_the_api_server_then_stores(
    arguments: tuple[str, ...], want: dict[str, Any],
    afresh: Afresh, kubectl: Kubectl, namespace: str,
) -> None:  # fmt: skip
    apply(kubectl, namespace, entry("T1", revision=1, revisionReason="Rejected"))

    done = afresh(*arguments, "-o", "json")

    output = json.loads(done.stdout)
    assert (done.returncode, output["namespace"], output["package"]) == (0, namespace, "demo")
    assert output["changed"] == want
    stored = spec_of(kubectl, namespace)
    for name, value in want.get("spec", {}).get("subtasks", [{}])[0].items():
        assert stored["subtasks"][0].get(name) == value
    assert stored["suspend"] is want.get("spec", {}).get("suspend", False)


def test_cancel_as_json_has_the_request_that_the_operator_answers(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1"))

    output = json.loads(afresh("cancel", "demo", "-o", "json").stdout)

    asked = output["changed"]["metadata"]["annotations"]
    stored = kubectl.get("wp", "demo", namespace)["metadata"]["annotations"]
    assert asked
    assert asked.items() <= stored.items()


def test_packages_of_one_namespace_are_compared_by_what_is_stored_of_them(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    for name, mode in (("demo", "FreshPerSubtask"), ("demo-persistent", "Persistent")):
        changes = {"spec.subtasks": [entry("T1")], "spec.context": {"mode": mode}}
        kubectl.apply(changed(minimal_package(name), changes), namespace)
    done = {"id": "T1", "phase": "Done", "attempts": 1, "commit": "c0ffee", "rejections": 1}
    usage = {"episodes": 1, "inputTokens": 1200, "costUSD": "0.42"}
    status = {"phase": "Succeeded", "subtasks": [done], "usage": usage}
    kubectl.patch_status("wp", "demo", namespace, status)

    table = afresh("compare", "demo", "demo-persistent")
    output = json.loads(afresh("compare", "demo", "demo-persistent", "-o", "json").stdout)
    missing = afresh("compare", "demo", "gone")

    assert table.stdout.startswith("They were asked for the same.\n")
    assert "demo-persistent has not ended" in table.stdout
    assert output["comparable"] is True
    assert (output["first"]["reviewRejectionRate"], output["first"]["costUSD"]) == (1.0, 0.42)
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "There is no WorkPackage gone in the namespace" in missing.stderr


def subtask_of(package: str) -> Manifest:
    return {
        "apiVersion": "afresh.dev/v1alpha1",
        "kind": "Subtask",
        "metadata": {"name": f"{package}-t1", "labels": {LABEL_PACKAGE: package}},
        "spec": {"workPackageName": package, **entry("T1")},
    }

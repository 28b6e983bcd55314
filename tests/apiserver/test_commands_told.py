"""What the commands of `afresh` tell: reports, refusals, and whose rights and cluster they use."""

import json
from pathlib import Path

import pytest

from tests.api.manifests import entry
from tests.apiserver.commands import Afresh, apply, run_afresh, spec_of, write_kubeconfig
from tests.apiserver.kubectl import Kubectl

pytestmark = pytest.mark.apiserver


def test_change_that_the_api_server_refuses_is_told_in_its_words(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    before = apply(kubectl, namespace, entry("T1", revision=1_000_000))

    done = afresh("retry", "demo", "T1")

    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (1, "", 1)
    assert "spec.subtasks[0].revision" in done.stderr
    assert "less than or equal to 1000000" in done.stderr
    assert spec_of(kubectl, namespace) == before["spec"]


def test_package_that_is_not_there_is_told_with_where_to_look(
    afresh: Afresh, namespace: str
) -> None:
    done = afresh("suspend", "other")

    assert done.returncode == 1
    assert done.stderr == (
        f"error: There is no WorkPackage other in the namespace {namespace};"
        f" see kubectl get wp -n {namespace}.\n"
    )


def test_person_without_rights_is_told_so_in_the_api_servers_words(
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


def test_cluster_without_work_packages_is_told_what_it_lacks(
    kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    theirs = write_kubeconfig(tmp_path, kubeconfig, namespace=namespace, path="/nothing/here")

    done = run_afresh("suspend", "demo", "--kubeconfig", str(theirs))

    assert done.stderr == "error: This cluster has no WorkPackages: install Afresh on it.\n"


def test_report_tells_the_status_and_why_git_could_not_read_the_branch(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1", title="Token model"), goal="Tokens.")
    review = {"id": "T1", "reason": "Blocked", "message": "Which key?\x1b[2J"}
    kubectl.patch_status("wp", "demo", namespace, {"phase": "NeedsReview", "reviews": [review]})

    markdown = afresh("report", "demo")
    told = json.loads(afresh("report", "demo", "-o", "json").stdout)

    assert (markdown.returncode, markdown.stderr) == (0, "")
    assert "### T1: Blocked\n\n> Which key?\n" in markdown.stdout
    assert "cannot be read: git says: fatal: unable to access" in markdown.stdout
    assert told["waiting"][0]["message"] == "Which key?"
    assert told["subtasks"][0]["title"] == "Token model"

"""The commands of `afresh` on a real API server: what they change, and what they leave alone."""

import asyncio
import io
import json
from collections.abc import Callable
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from afresh.api.work_package import WorkPackage
from afresh.cli.__main__ import main
from afresh.cli.perform import Stored
from afresh.cli.requests import CommandError, Guide, Skip
from afresh.kube.client import Kube
from tests.api.manifests import changed, entry, minimal_package
from tests.apiserver.kubectl import Kubectl, Manifest

pytestmark = pytest.mark.apiserver
CANCEL, RETRY = "afresh.dev/cancel-requested-at", "afresh.dev/retry-requested-at"
URL = "http://127.0.0.1:9/team/api.git"


@dataclass(frozen=True, slots=True)
class Done:
    """What a command printed, and its exit code."""

    returncode: int
    stdout: str
    stderr: str


Afresh = Callable[..., Done]


@pytest.fixture
def afresh(kubeconfig: Path, namespace: str) -> Afresh:
    """Run `afresh` as the administrator in the namespace of the test."""

    def run(*arguments: str) -> Done:
        return run_afresh(*arguments, "-n", namespace, "--kubeconfig", str(kubeconfig))

    return run


def run_afresh(*arguments: str) -> Done:
    """Run the command in this process: the imports of a new one take longer than all it does."""
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = main(arguments)
    return Done(code, out.getvalue(), err.getvalue())


def apply(kubectl: Kubectl, namespace: str, *subtasks: Manifest, **spec: Any) -> Manifest:
    """Apply a package and return what is stored."""
    changes = {"spec.subtasks": list(subtasks), "spec.repository": {"url": URL}}
    changes |= {f"spec.{field}": value for field, value in spec.items()}
    kubectl.apply(changed(minimal_package(), changes), namespace)
    return kubectl.get("wp", "demo", namespace)


def spec_of(kubectl: Kubectl, namespace: str) -> Manifest:
    spec: Manifest = kubectl.get("wp", "demo", namespace)["spec"]
    return spec


def annotation(kubectl: Kubectl, namespace: str, name: str) -> str | None:
    found = kubectl.get("wp", "demo", namespace)["metadata"].get("annotations", {})
    value: str | None = found.get(name)
    return value


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param({}, ["Use JWT."], id="no guidance yet"),
        pytest.param({"guidance": []}, ["Use JWT."], id="an empty list"),
        pytest.param({"guidance": ["Be brief."]}, ["Be brief.", "Use JWT."], id="some guidance"),
    ],
)
def test_guide_adds_the_directive_raises_the_revision_and_changes_nothing_else(
    given: dict[str, Any], want: list[str], afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    before = apply(kubectl, namespace, entry("T1", guidance=["Stay."]), entry("T2", **given))

    done = afresh("guide", "demo", "T2", "Use JWT.")

    assert (done.returncode, done.stderr) == (0, "")
    before["spec"]["subtasks"][1] |= {"guidance": want, "revision": 1}
    assert spec_of(kubectl, namespace) == before["spec"]


def test_lines_that_guide_prints_lead_to_the_same_package_in_a_manifest(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1"), entry("T2", guidance=["Be brief: é < ß & 😀."]))

    done = afresh("guide", "demo", "T2", 'Use: JWT # not "sessions" é.')

    assert done.stderr == ""
    lines = yaml.safe_load(done.stdout.partition("git:\n")[2])["spec"]["subtasks"][0]
    stored = spec_of(kubectl, namespace)["subtasks"][1]
    assert lines == {key: stored[key] for key in ("id", "guidance", "revision")}


def test_skip_and_retry_change_the_named_subtasks(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1"), entry("T2", revision=3), entry("T3"))

    assert afresh("skip", "demo", "T2", "T3").returncode == 0
    skipped = spec_of(kubectl, namespace)["subtasks"]
    assert afresh("retry", "demo", "T2").returncode == 0
    retried = spec_of(kubectl, namespace)["subtasks"]

    assert [item["skip"] for item in skipped] == [False, True, True]
    assert [item["skip"] for item in retried] == [False, False, True]
    assert [item["revision"] for item in retried] == [0, 4, 0]


def test_retry_of_a_stalled_package_runs_what_waits_and_asks_it_to_go_on(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1"), entry("T2"))
    status = {"phase": "Stalled", "reviews": [{"id": "T2", "reason": "Blocked"}]}
    kubectl.patch_status("wp", "demo", namespace, status)

    done = afresh("retry", "demo")

    assert "T2 runs again. demo is asked to go on" in done.stdout
    assert [item["revision"] for item in spec_of(kubectl, namespace)["subtasks"]] == [0, 1]
    assert annotation(kubectl, namespace, RETRY)


def test_suspend_and_resume_change_one_field_and_may_be_repeated(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1"))

    seen = []
    for command in ("suspend", "suspend", "resume", "resume"):
        assert afresh(command, "demo").returncode == 0
        seen.append(spec_of(kubectl, namespace)["suspend"])

    assert seen == [True, True, False, False]


def test_each_cancel_is_a_request_of_its_own(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1"))

    asked = []
    for _ in range(2):
        assert afresh("cancel", "demo").returncode == 0
        asked.append(annotation(kubectl, namespace, CANCEL))

    assert None not in asked
    assert asked[0] != asked[1]
    assert "kubectl.kubernetes.io/last-applied-configuration" in str(
        kubectl.get("wp", "demo", namespace)["metadata"]["annotations"]
    )


def test_cancel_works_on_a_package_that_has_no_annotations(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    kubectl("create", "-n", namespace, manifest=minimal_package())

    assert afresh("cancel", "demo").returncode == 0
    assert annotation(kubectl, namespace, CANCEL)


async def test_four_people_at_once_and_every_directive_is_kept(
    kubeconfig: Path, kubectl: Kubectl, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1"))
    kube = await Kube.connect(str(kubeconfig))
    stored = Stored(kube, namespace, "demo")
    directives = [f"Rule {number}." for number in range(4)]

    try:
        await asyncio.gather(
            *(stored.change(Guide(subtask="T1", directive=item)) for item in directives)
        )
    finally:
        await kube.close()

    item = spec_of(kubectl, namespace)["subtasks"][0]
    assert sorted(item["guidance"]) == directives
    assert item["revision"] == len(directives)


@dataclass(frozen=True, slots=True)
class Overtaken(Stored):
    """A package that somebody else changes just after it was read for the first time."""

    kubectl: Kubectl
    faster: list[Manifest]

    async def read(self) -> WorkPackage:
        # zero-argument super() does not work in a dataclass with slots
        package = await Stored.read(self)
        if self.faster:
            self.kubectl.apply(self.faster.pop(), self.namespace)
        return package


async def test_subtask_that_moved_since_it_was_read_is_found_at_its_new_place(
    kubeconfig: Path, kubectl: Kubectl, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1"), entry("T2"))
    faster = changed(minimal_package(), {
        "spec.subtasks": [entry("T0"), entry("T2"), entry("T1")],
        "spec.repository": {"url": URL},
    })  # fmt: skip
    kube = await Kube.connect(str(kubeconfig))

    try:
        await Overtaken(kube, namespace, "demo", kubectl, [faster]).change(Skip(subtasks=("T1",)))
    finally:
        await kube.close()

    stored = spec_of(kubectl, namespace)["subtasks"]
    assert [(item["id"], item["skip"]) for item in stored] == [
        ("T0", False), ("T2", False), ("T1", True),
    ]  # fmt: skip


async def test_subtask_that_is_gone_since_it_was_read_is_told(
    kubeconfig: Path, kubectl: Kubectl, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1"), entry("T2"))
    faster = changed(minimal_package(), {"spec.repository": {"url": URL}})
    kube = await Kube.connect(str(kubeconfig))

    try:
        with pytest.raises(CommandError, match='demo has no subtask "T2"; it has T001'):
            await Overtaken(kube, namespace, "demo", kubectl, [faster]).change(
                Skip(subtasks=("T2",))
            )
    finally:
        await kube.close()


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


def write_kubeconfig(
    folder: Path,
    admins: Path,
    *,
    namespace: str,
    user: Manifest | None = None,
    path: str = "",
) -> Path:
    """Write a kubeconfig for the same server with one context named theirs."""
    config = yaml.safe_load(admins.read_text())
    cluster, admin = config["clusters"][0]["cluster"], config["users"][0]["user"]
    target = folder / "theirs"
    theirs = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {**cluster, "server": cluster["server"] + path}}],
        "users": [{"name": "u", "user": user or admin}],
        "contexts": [
            {"name": "theirs", "context": {"cluster": "c", "user": "u", "namespace": namespace}}
        ],
        "current-context": "theirs",
    }
    target.write_text(yaml.safe_dump(theirs))
    return target


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

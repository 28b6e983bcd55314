"""The commands of `afresh` on a real API server: what they change, and what they leave alone."""

import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from afresh.api.work_package import CANCEL_ANNOTATION, RETRY_ANNOTATION, WorkPackage
from afresh.cli.perform import Stored
from afresh.cli.requests import CommandError, Guide, Skip
from afresh.kube.client import Kube
from tests.api.manifests import changed, entry, minimal_package
from tests.apiserver.commands import URL, Afresh, apply, spec_of
from tests.apiserver.kubectl import Kubectl, Manifest

pytestmark = pytest.mark.apiserver


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


def test_guide_warns_once_of_words_about_the_past_and_adds_them_as_they_are(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1"))
    directive = "As discussed, use JWT. You already tried sessions."

    done = afresh("guide", "demo", "T1", directive)

    assert done.returncode == 0
    (warning,) = done.stderr.splitlines()
    assert warning.startswith('Warning: "As discussed" refers to the past')
    assert warning.endswith('the present tense is clearer, such as "Use JWT."')
    (stored,) = spec_of(kubectl, namespace)["subtasks"]
    assert (stored["guidance"], stored["revision"]) == ([directive], 1)


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

    assert "T2 runs again. demo is asked to continue" in done.stdout
    assert [item["revision"] for item in spec_of(kubectl, namespace)["subtasks"]] == [0, 1]
    assert annotation(kubectl, namespace, RETRY_ANNOTATION)


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
        asked.append(annotation(kubectl, namespace, CANCEL_ANNOTATION))

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
    assert annotation(kubectl, namespace, CANCEL_ANNOTATION)


def test_copy_is_asked_for_the_same_on_its_own_branch_and_without_what_people_answered(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    answered = entry("T2", revision=3, revisionReason="Rejected", guidance=["Use JWT."])
    repository = {"url": URL, "baseRef": "v1", "branch": "team/tokens"}
    before = apply(kubectl, namespace, entry("T1"), answered, repository=repository, maxEpisodes=9)

    done = afresh("copy", "demo", "demo-2", "--mode", "persistent")
    again = afresh("copy", "demo", "demo-2")

    made = kubectl.get("wp", "demo-2", namespace)["spec"]
    assert done.stdout == (
        "demo-2 is asked for the same as demo, in the context mode Persistent, on the branch"
        " afresh/demo-2.\n"
    )
    assert made["context"]["mode"] == "Persistent"
    assert made["repository"] == {"url": URL, "baseRef": "v1", "lfs": False}
    assert [item["revision"] for item in made["subtasks"]] == [0, 0]
    assert made["subtasks"][1]["guidance"] == ["Use JWT."]
    assert made["maxEpisodes"] == 9
    assert (again.returncode, again.stderr) == (
        1,
        f"error: There is a WorkPackage demo-2 in the namespace {namespace} already:"
        " choose another name.\n",
    )
    assert spec_of(kubectl, namespace) == before["spec"]


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


async def test_subtask_that_was_removed_since_it_was_read_is_reported(
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

"""The commands that look, on a real API server: they follow what changes and change nothing."""

import json
import os
import pty
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.api.manifests import entry
from tests.apiserver.commands import Afresh, apply, run_afresh, set_status, visitor
from tests.apiserver.conftest import ROOT
from tests.apiserver.kubectl import Kubectl, Manifest

pytestmark = pytest.mark.apiserver
BACKGROUND = 240


def subtask(kubectl: Kubectl, namespace: str, *attempts: Manifest, id: str = "T1") -> None:
    """Make the Subtask of `id` with a history."""
    name = f"demo-{id.lower()}"
    spec = {**entry(id), "workPackageName": "demo"}
    manifest = {"apiVersion": "afresh.dev/v1alpha1", "kind": "Subtask",
                "metadata": {"name": name}, "spec": spec}  # fmt: skip
    kubectl("apply", "-n", namespace, manifest=manifest)
    kubectl.patch_status("st", name, namespace, {"attempts": list(attempts)})


def test_status_shows_the_tree_and_as_json_the_same_facts(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1", title="Token model"), entry("T2", dependsOn=["T1"]))
    subtask(
        kubectl,
        namespace,
        {
            "number": 1,
            "startTime": "2030-01-02T03:00:00Z",
            "completionTime": "2030-01-02T03:00:42Z",
            "outcome": "Blocked",
        },
    )
    record = {"id": "T1", "phase": "NeedsReview", "marker": "[!]", "reason": "Blocked",
              "message": "Which key?", "attempts": 1}  # fmt: skip
    set_status(kubectl, namespace, "NeedsReview", subtasks=[record])

    text = afresh("status", "demo")
    output = json.loads(afresh("status", "demo", "-o", "json").stdout)

    assert (text.returncode, text.stderr) == (0, "")
    assert "├─ [!] T1  Token model  Blocked  42s\n│      Which key?\n" in text.stdout
    assert "└─ [ ] T2               Waiting\n       waits for T1\n" in text.stdout
    assert "\x1b" not in text.stdout
    assert (output["phase"], output["subtasks"][0]["seconds"]) == ("NeedsReview", 42)
    assert output["subtasks"][1]["waitsFor"] == ["T1"]


def test_status_of_all_packages_is_a_table_of_one_namespace_or_of_every_one(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    nothing = afresh("status")
    apply(kubectl, namespace, entry("T1"))
    set_status(kubectl, namespace, "Stalled")

    text = afresh("status")
    everywhere = json.loads(afresh("status", "-A", "-o", "json").stdout)["packages"]

    assert nothing.stdout == f"There is no WorkPackage in the namespace {namespace}.\n"
    assert "demo  Stalled  0/1" in text.stdout
    assert "    It is Stalled.\n" in text.stdout
    assert namespace in {item["namespace"] for item in everywhere}


def test_status_in_a_pipe_prints_each_change_until_the_package_ends(
    kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1"))
    set_status(kubectl, namespace, "Running")
    with started(kubeconfig, namespace, "status", "demo", "-w") as done:
        first = done.stdout.readline()
        set_status(kubectl, namespace, "Suspended")
        second = done.stdout.readline()
        set_status(kubectl, namespace, "Succeeded", progress="1/1")
        rest, _ = done.communicate(timeout=BACKGROUND)

    assert first.partition(" ")[2] == f"{namespace}/demo: Running, 0/1 done: It is Running.\n"
    assert f"{namespace}/demo: Suspended" in second
    assert f"{namespace}/demo: Succeeded, 1/1 done: It is Succeeded.\n" in rest
    assert done.returncode == 0


def test_status_that_is_terminated_gives_the_terminal_back(
    kubectl: Kubectl, kubeconfig: Path, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    apply(kubectl, namespace, entry("T1"))
    set_status(kubectl, namespace, "Running")
    ours, theirs = pty.openpty()
    with started(kubeconfig, namespace, "status", "demo", "-w", stdout=theirs) as done:
        os.close(theirs)
        shown = left = b""
        while b"It is Running." not in shown:
            shown += os.read(ours, 65536)
        done.terminate()
        with suppress(OSError):  # a terminal that nobody writes to any more
            while True:
                left += os.read(ours, 65536)
        code = done.wait(BACKGROUND)
    os.close(ours)

    assert (code, b"\x1b[?1049h" in shown, b"\x1b[?1049l" in left) == (143, True, True)


@contextmanager
def started(
    kubeconfig: Path, namespace: str, *words: str, stdout: int = subprocess.PIPE
) -> Iterator[subprocess.Popen[str]]:
    """Run `afresh` as a process of its own, whose output can be read as it comes, for a while."""
    environment = {
        **os.environ, "PYTHONPATH": str(ROOT / "controller"), "KUBECONFIG": str(kubeconfig),
    }  # fmt: skip
    with subprocess.Popen(
        [sys.executable, "-m", "afresh.cli", *words, "-n", namespace],
        env=environment, stdout=stdout, text=True,
    ) as process:  # fmt: skip
        overdue = threading.Timer(BACKGROUND, process.kill)
        overdue.start()
        try:
            yield process
        finally:
            overdue.cancel()
            process.kill()


def test_reader_that_has_seen_enough_ends_a_command_without_a_word(
    kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1"))
    reading, writing = os.pipe()
    os.close(reading)
    environment = {key: text for key, text in os.environ.items() if key != "PYTHONUNBUFFERED"}

    done = subprocess.run(
        [sys.executable, "-m", "afresh.cli", "status", "demo", "-n", namespace, "-o", "json"],
        env={**environment, "PYTHONPATH": str(ROOT / "controller"), "KUBECONFIG": str(kubeconfig)},
        stdout=writing, stderr=subprocess.PIPE, text=True, timeout=BACKGROUND, check=False,
    )  # fmt: skip
    os.close(writing)

    assert (done.returncode, done.stderr) == (1, "")


def test_letters_that_the_output_does_not_have_are_shown_as_question_marks(
    kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1", title="Über"))
    places = {"PYTHONPATH": str(ROOT / "controller"), "KUBECONFIG": str(kubeconfig)}

    done = subprocess.run(
        [sys.executable, "-m", "afresh.cli", "status", "demo", "-n", namespace],
        env={**os.environ, **places, "PYTHONIOENCODING": "latin-1"},
        capture_output=True, timeout=BACKGROUND, check=False,
    )  # fmt: skip

    assert (done.returncode, done.stderr) == (0, b"")
    assert "?? [ ] T1  Über" in done.stdout.decode("latin-1")


def test_explain_says_what_starts_next_and_that_no_operator_runs(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    repository = {"url": f"http://git.example.com/{namespace}.git"}
    name = f"class-{namespace}"
    apply(kubectl, namespace, entry("T1"), agentClassName=name, repository=repository)
    unknown = json.loads(afresh("explain", "demo", "-o", "json").stdout)
    spec = {"adapter": "Command", "command": ["true"], "image": "example.com/agent:1",
            "maxConcurrentEpisodes": 3}  # fmt: skip
    kubectl(
        "apply",
        manifest={
            "apiVersion": "afresh.dev/v1alpha1",
            "kind": "AgentClass",
            "metadata": {"name": f"class-{namespace}"},
            "spec": spec,
        },
    )

    done = afresh("explain", "demo")

    assert (done.returncode, done.stderr) == (0, "")
    assert unknown["next"]["rule"] == "class_not_found"
    assert "Rule      subtask_ready: " in done.stdout
    assert "          start a fresh agent for T1 (attempt 1)\n" in done.stdout
    assert "To do     Have the operator installed or started" in done.stdout
    assert "Not seen" not in done.stdout
    assert "jobs" not in kubectl("get", "jobs,st", "-n", namespace, "-o", "name")


def test_explain_without_many_rights_says_what_it_could_not_see(
    kubectl: Kubectl, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    apply(kubectl, namespace, entry("T1"))
    set_status(kubectl, namespace, "Stalled", reason="Auth")
    theirs = visitor(
        kubectl, kubeconfig, namespace, tmp_path, "workpackages.afresh.dev", "subtasks.afresh.dev"
    )

    done = run_afresh("explain", "demo", "--kubeconfig", theirs)

    assert (done.returncode, done.stderr) == (0, "")
    assert "Status    Stalled, Auth: It is Stalled." in done.stdout
    assert "The next step depends on what you may not see." in done.stdout
    assert f"pods in {namespace}, which would show what would be done next" in done.stdout
    assert "To do     Correct the Secret that the message names" in done.stdout
    assert "Operator" not in done.stdout


def test_explain_with_rights_in_the_namespace_alone_names_the_class_that_it_could_not_see(
    kubectl: Kubectl, kubeconfig: Path, namespace: str, tmp_path: Path
) -> None:
    apply(kubectl, namespace, entry("T1"), agentClassName="claude")
    theirs = visitor(
        kubectl, kubeconfig, namespace, tmp_path,
        "workpackages.afresh.dev", "subtasks.afresh.dev", "agentclasses.afresh.dev", "pods",
        "jobs.batch", "events",
    )  # fmt: skip

    done = run_afresh("explain", "demo", "--kubeconfig", theirs)

    assert (done.returncode, done.stderr) == (0, "")
    assert "Not seen  agentclass claude, which would show what would be done next" in done.stdout
    assert "To do     Wait until the operator has looked at it;" in done.stdout


def test_logs_of_an_episode_whose_pod_is_gone_are_the_lines_that_the_status_keeps(
    afresh: Afresh, kubectl: Kubectl, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1"), entry("T2"))
    ended = {"outcome": "VerifyFailed"}
    subtask(
        kubectl, namespace,
        {"number": 1, "jobName": "demo-t1-1-abc", "logTail": "first\n  \x1b[31mred\n", **ended},
        {"number": 2, "jobName": "demo-t1-2-abc", **ended},
    )  # fmt: skip
    set_status(kubectl, namespace, "NeedsReview")

    kept = afresh("logs", "demo", "T1", "--attempt", "1")
    empty = afresh("logs", "-f", "demo")
    lines = afresh("logs", "demo", "T1", "--attempt", "1", "-o", "json").stdout.splitlines()
    never = afresh("logs", "demo", "T2")
    not_made = afresh("logs", "-f", "demo", "T2")

    assert (kept.stdout, kept.returncode) == ("first\n  red\n", 0), kept.stderr
    assert kept.stderr == (
        "--- T1, attempt 1, ended with VerifyFailed: its pod is gone; these are the last lines,"
        " kept in the status\n"
    )
    assert "the status keeps no line" in empty.stderr
    assert "--- demo is NeedsReview: It is NeedsReview.\n" in empty.stderr
    assert json.loads(lines[0]) == {
        "subtask": "T1", "attempt": 1, "source": "Status", "line": "first",
    }  # fmt: skip
    assert never.stderr == "error: No episode of T2 has started yet.\n"
    assert (not_made.stderr, not_made.returncode) == (
        "--- demo is NeedsReview: It is NeedsReview.\n",
        0,
    )


def test_names_of_packages_and_subtasks_are_completed_from_the_cluster(
    kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    apply(kubectl, namespace, entry("T1", title="Token model"), entry("T2"))
    set_status(kubectl, namespace, "Running")

    def completed(*words: str) -> list[str]:
        environment = {
            **os.environ, "PYTHONPATH": str(ROOT / "controller"), "KUBECONFIG": str(kubeconfig),
            "PATH": f"{kubectl.program.parent}:{os.environ['PATH']}",
            "_AFRESH_COMPLETE": "zsh_complete", "COMP_WORDS": " ".join(words),
            "COMP_CWORD": str(len(words) - 1),
        }  # fmt: skip
        script = "import sys; from afresh.cli.__main__ import main; sys.exit(main())"
        done = subprocess.run([sys.executable, "-c", script], env=environment, text=True,
                              capture_output=True, timeout=BACKGROUND, check=False)  # fmt: skip
        return done.stdout.split("\n")

    place = ("-n", namespace)
    assert completed("afresh", "status", *place, "de")[:3] == ["plain", "demo", "Running"]
    assert completed("afresh", "logs", *place, "demo", "T")[:6] == [
        "plain", "T1", "Token model", "plain", "T2", "_",
    ]  # fmt: skip
    assert "T1" not in completed("afresh", "skip", *place, "demo", "T1", "T")

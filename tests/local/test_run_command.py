"""`afresh run` in a clone: what it starts, what it refuses, what it says, and its exit codes."""

import json
import os
import pty
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from tests.local.afresh_command import Person, package, person_with_a_clone, script_class

PROBE = ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"]
needs_sandbox = pytest.mark.skipif(
    shutil.which("bwrap") is None or subprocess.run(PROBE, check=False).returncode != 0,
    reason="needs bubblewrap and user namespaces",
)
SCRIPT = "cat > /dev/null; touch seen-$(date +%N).txt"
WAITS = "cat > /dev/null; touch seen-$(date +%N).txt; sleep 300"
POLL_SECONDS = 0.05


@pytest.fixture
def person(tmp_path: Path) -> Person:
    return person_with_a_clone(tmp_path)


def attempts(person: Person, subtask: str) -> list[dict[str, Any]]:
    """The attempts of a subtask, as they are recorded."""
    (path,) = person.state.glob(f"*/packages/demo/subtasks/demo-{subtask.lower()}.json")
    found: list[dict[str, Any]] = json.loads(path.read_text())["status"]["attempts"]
    return found


@needs_sandbox
def test_package_of_the_default_file_succeeds_and_says_where_its_work_is(person: Person):
    person.write(package("T1", "T2"), script_class(SCRIPT))

    ran = person.afresh("run")

    assert ran.code == 0, ran.err
    first, *changes = ran.out.splitlines()
    assert first == f"Package demo in the clone {person.clone}, on the branch afresh/demo."
    assert any("demo T2: Running -> [x] Done" in line for line in changes), ran.out
    assert ran.out.endswith("  git log -p HEAD..afresh/demo\n  git merge afresh/demo\n")
    subjects = person.git("log", "--format=%s", "main..afresh/demo").splitlines()
    assert subjects == ["T2", "T1", "Plan"]


@needs_sandbox
def test_package_from_standard_input_succeeds(person: Person):
    text = person.write(package("T1"), script_class(SCRIPT), name="other.yaml").read_text()

    ran = person.afresh("run", "-f", "-", stdin=text)

    assert ran.code == 0, ran.err


@needs_sandbox
def test_run_without_a_file_goes_on_with_the_package_that_was_run_before(person: Person):
    path = person.write(package("T1"), script_class(SCRIPT))
    person.afresh("run")
    path.unlink()

    ran = person.afresh("run")

    assert ran.code == 0, ran.err
    assert len(attempts(person, "T1")) == 1


@needs_sandbox
def test_package_whose_work_is_never_accepted_ends_with_the_code_that_wait_has(person: Person):
    refusing = {"command": ["false"]}
    person.write(package("T1", verify=refusing, maxConsecutiveFailures=1), script_class(SCRIPT))

    ran = person.afresh("run")

    assert ran.code in (3, 4), ran.out
    assert "afresh run -f package.yaml" in ran.out.splitlines()[-1]


@needs_sandbox
def test_mode_of_one_run_is_recorded_with_its_attempts_and_the_package_stays_as_it_is(
    person: Person,
):
    own = {"mode": "Persistent"}
    person.write(package("T1", context=own), script_class(SCRIPT))

    ran = person.afresh("run", "--context-mode", "freshpersubtask")

    assert ran.code == 0, ran.out + ran.err
    assert [item["contextMode"] for item in attempts(person, "T1")] == ["FreshPerSubtask"]
    (stored,) = person.state.glob("*/packages/demo/package.json")
    assert json.loads(stored.read_text())["spec"]["context"] == own


@needs_sandbox
def test_run_that_is_interrupted_twice_says_how_to_go_on_and_the_next_one_finishes(
    person: Person,
):
    person.write(package("T1"), script_class(WAITS))
    process = person.started("run")
    agents_work(person, process)
    process.send_signal(signal.SIGINT)
    assert process.stderr
    said = b"Interrupted: what runs now is let end; Ctrl-C again ends it.\n"
    assert said in (process.stderr.readline(), process.stderr.readline())
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert out.decode().splitlines()[-1] == (
        "The run was interrupted. To go on: afresh run -f package.yaml"
    )

    person.write(package("T1"), script_class(SCRIPT))
    ran = person.afresh("run")

    assert ran.code == 0, ran.err


def agents_work(person: Person, process: "subprocess.Popen[bytes]") -> None:
    """Wait until the agent has left its file."""
    while not list(person.state.glob("*/packages/demo/episodes/*/pod/workspace/seen-*")):
        assert process.poll() is None, process.communicate()
        time.sleep(POLL_SECONDS)


@needs_sandbox
def test_second_run_of_a_package_at_once_is_refused(person: Person):
    person.write(package("T1"), script_class(WAITS))
    first = person.started("run")
    agents_work(person, first)

    second = person.afresh("run")

    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=120)
    assert second.code == 2
    assert second.err.splitlines() == [
        "Agents do not see changes that are not committed.",
        "error: Another afresh run works on demo; wait for it, or end it with Ctrl-C.",
    ]


@needs_sandbox
def test_terminal_shows_the_tree_in_place_and_keeps_the_last_one(person: Person):
    person.write(package("T1"), script_class(SCRIPT))
    ours, theirs = pty.openpty()
    environment = {**person.environment, "TERM": "xterm", "COLUMNS": "80", "LINES": "24"}
    process = Person(person.clone, environment).started("run", stdout=theirs)
    os.close(theirs)
    with process:
        shown = read_all(ours)
    assert process.returncode == 0

    in_place, last = shown.rsplit("\x1b[?1049l", 1)
    assert "\x1b[?1049h" in in_place
    assert "Succeeded" in last
    assert "└─" in last
    assert "local/" not in shown


def read_all(descriptor: int) -> str:
    found = b""
    try:
        while piece := os.read(descriptor, 1 << 16):
            found += piece
    except OSError:  # the other side is closed
        pass
    finally:
        os.close(descriptor)
    return found.decode(errors="replace")


KEYED = {"adapter": "Claude", "credentials": {"secretName": "key"}, "image": "none:1"}


@pytest.mark.parametrize(
    ("documents", "arguments", "want"),
    [
        pytest.param(
            (),
            (),
            "There is no package.yaml here, and no package was run in this clone before; write"
            " one with afresh init, or name its file with -f.",
            id="nothing to run",
        ),
        pytest.param(
            (),
            ("-f", "missing.yaml"),
            "missing.yaml cannot be read: No such file or directory; see afresh run --help.",
            id="a file that is not there",
        ),
        pytest.param(
            (),
            ("other",),
            "No package other was run in this clone before; name its file with -f.",
            id="a package that was never run",
        ),
        pytest.param(
            (package("T1"),),
            (),
            "There is no AgentClass script: add it to the package's file, or choose one of this"
            " machine's programs with --agent: claude, codex, gemini, opencode, aider, qwen.",
            id="a class that is nowhere",
        ),
        pytest.param(
            (package("T1"), script_class("", command=["no-such-agent"])),
            (),
            "The program no-such-agent is not installed, or not on the PATH; install it, or choose"
            " another one with --agent.",
            id="a program that is not installed",
        ),
    ],
)
def test_what_cannot_be_started_is_one_sentence_and_nothing_is_kept(
    person: Person, documents: tuple[dict[str, Any], ...], arguments: tuple[str, ...], want: str
):
    if documents:
        person.write(*documents)

    ran = person.afresh("run", *arguments)

    assert (ran.code, ran.out, ran.err) == (2, "", f"error: {want}\n")
    assert not list(person.state.glob("*/packages/*"))


def test_key_that_is_missing_is_asked_for_by_its_variable(person: Person, tmp_path: Path):
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "claude").write_text("#!/bin/sh\n")
    (programs / "claude").chmod(0o755)
    path = f"{programs}:{os.environ['PATH']}"
    person.write(package("T1", agentClassName="claude"))

    ran = Person(person.clone, {"PATH": path}).afresh("run")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "error: The agent claude needs the key of its model; set the environment variable"
        " ANTHROPIC_API_KEY to it.\n"
    )


def test_outside_of_a_clone_one_sentence_says_so(tmp_path: Path):
    ran = Person(tmp_path).afresh("run")

    assert (ran.code, ran.out) == (2, "")
    assert "is not in the work tree of a git repository" in ran.err


def test_everything_that_is_wrong_with_a_file_is_said_with_its_line(person: Person):
    (person.clone / "package.yaml").write_text(WRONG)

    ran = person.afresh("run")

    assert ran.code == 2
    assert ran.out == ""
    *findings, last = ran.err.splitlines()
    assert [finding.partition(": ")[0] for finding in findings] == [
        "package.yaml:5",
        "package.yaml:7",
        "package.yaml:9",
        "package.yaml:12",
    ]
    assert last == "error: Correct package.yaml; nothing was started."


WRONG = """\
apiVersion: afresh.dev/v1alpha1
kind: WorkPackage
metadata:
  name: demo
spec:
  agentClassName: script
  parallelism: many
  repository:
    url: 12
    baseRef: main
  subtasks:
    - title: No id
      prompt: Do it.
"""


@needs_sandbox
def test_with_json_standard_output_has_an_object_for_each_change_and_nothing_else(person: Person):
    person.write(package("T1"), script_class(SCRIPT))

    ran = person.afresh("run", "-o", "json")

    assert ran.code == 0, ran.err
    views = [json.loads(line) for line in ran.out.splitlines()]
    assert views[-1]["phase"] == "Succeeded"
    assert views[-1]["subtasks"][0]["phase"] == "Done"


@needs_sandbox
def test_file_that_changes_what_a_package_cannot_change_is_refused_in_a_sentence(person: Person):
    person.write(package("T1"), script_class(SCRIPT))
    person.afresh("run")
    elsewhere = {"url": "https://git.example.com/a/other.git", "baseRef": "main"}
    person.write(package("T1", repository=elsewhere), script_class(SCRIPT))

    ran = person.afresh("run")

    assert ran.code == 2
    assert ran.err.splitlines()[-1].startswith(
        "error: package.yaml does not fit the package demo that was run before: url, baseRef"
    )


def test_package_that_cannot_be_read_is_one_sentence(person: Person):
    person.write(package("T1"))
    person.afresh("run")  # makes the folder of the clone
    (folder,) = person.state.iterdir()
    stored = folder / "packages" / "demo" / "package.json"
    stored.parent.mkdir(parents=True)
    stored.write_text('{"kind": "WorkPackage"}')

    ran = person.afresh("run", "demo")

    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        "error: The package demo was kept by another version of afresh, or is damaged; name its"
        " file with -f.\n"
    )

"""The workflows: what the format takes, with targets that exist and no more rights than needed."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.project.makefile import ROOT, TARGETS, called

GITHUB = ROOT / ".github"
WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))
FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml"))
FORMATS = [
    *(pytest.param(path, "github-workflows", id=path.name) for path in WORKFLOWS),
    *(pytest.param(path, "github-issue-forms", id=path.name) for path in FORMS),
    pytest.param(GITHUB / "dependabot.yml", "dependabot", id="dependabot.yml"),
]
each_workflow = pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)


def check(path: Path, schema: str) -> subprocess.CompletedProcess[str]:
    """Hold a file against a schema that the tool brings along: nothing is fetched."""
    tool = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    return subprocess.run(
        [*tool, str(path)], capture_output=True, text=True, timeout=120, check=False
    )


def jobs(path: Path) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(path.read_text())["jobs"]
    return found


def steps(path: Path, key: str) -> list[str]:
    return [step[key] for job in jobs(path).values() for step in job["steps"] if key in step]


@pytest.mark.parametrize(("path", "schema"), FORMATS)
def test_a_file_for_the_platform_is_what_its_format_takes(path: Path, schema: str) -> None:
    done = check(path, schema)

    assert done.returncode == 0, done.stdout


def test_a_workflow_with_a_misspelt_key_is_not_what_the_format_takes(tmp_path: Path) -> None:
    broken = tmp_path / "broken.yml"
    broken.write_text(WORKFLOWS[0].read_text().replace("timeout-minutes", "timeout-minute", 1))

    assert check(broken, "github-workflows").returncode == 1


@each_workflow
def test_a_workflow_calls_targets_that_exist(path: Path) -> None:
    named = called("\n".join(steps(path, "run")))

    assert named
    assert named <= TARGETS


def test_a_change_is_tried_by_every_kind_of_test() -> None:
    named = called("\n".join(steps(GITHUB / "workflows" / "ci.yml", "run")))

    assert {"check", "unit", "slow", "site", "apiserver", "e2e", "e2e-kind"} <= named


def test_the_unit_tests_have_the_packages_that_the_whole_run_installs() -> None:
    script = (ROOT / "tools" / "test.sh").read_text()
    (named,) = re.findall(r"for package in ([a-z -]+);", script)

    installed = " ".join(
        step.get("run", "") for step in jobs(GITHUB / "workflows" / "ci.yml")["unit"]["steps"]
    )

    assert set(named.split()) <= set(installed.split())


def test_the_unit_tests_may_make_the_namespaces_of_their_pods() -> None:
    container = jobs(GITHUB / "workflows" / "ci.yml")["unit"]["container"]

    assert "--privileged" in container["options"]


@each_workflow
def test_a_script_of_the_project_that_a_workflow_runs_exists(path: Path) -> None:
    for script in re.findall(r"\b(?:deploy|tools)/\S+", "\n".join(steps(path, "run"))):
        assert (ROOT / script).exists(), script


@each_workflow
def test_an_action_is_pinned(path: Path) -> None:
    pinned = re.compile(r"(?:- )?uses: [\w-]+/[\w/-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    lines = [line.strip() for line in path.read_text().splitlines() if "uses:" in line]

    assert len(lines) == len(steps(path, "uses"))
    assert [line for line in lines if not pinned.fullmatch(line)] == []


def test_an_action_is_the_same_commit_wherever_it_is_used() -> None:
    used = {uses for path in WORKFLOWS for uses in steps(path, "uses")}

    assert len({uses.partition("@")[0] for uses in used}) == len(used)


def test_what_is_released_is_attested_and_signed() -> None:
    (path,) = [path for path in WORKFLOWS if path.stem == "release"]
    publish = jobs(path)["publish"]
    scripts = "\n".join(step.get("run", "") for step in publish["steps"])
    used = [step["uses"].partition("@")[0] for step in publish["steps"] if "uses" in step]

    assert {"actions/attest-build-provenance", "sigstore/cosign-installer"} <= set(used)
    assert publish["permissions"].items() >= {"id-token": "write", "attestations": "write"}.items()
    signed = ("cosign sign --yes", "cosign attest --yes --type cyclonedx", "cosign sign-blob --yes")
    assert [command for command in signed if command not in scripts] == []


@each_workflow
def test_a_workflow_may_write_nothing_but_what_a_job_asks_for(path: Path) -> None:
    text = yaml.safe_load(path.read_text())

    assert set(text["permissions"].values()) <= {"read"}


def test_only_the_job_that_publishes_may_write() -> None:
    writing = {
        (path.stem, name)
        for path in WORKFLOWS
        for name, job in jobs(path).items()
        if "write" in job.get("permissions", {}).values()
    }

    assert writing == {("release", "publish")}


@each_workflow
def test_a_job_ends_in_time_and_leaves_no_token_in_the_checkout(path: Path) -> None:
    for name, job in jobs(path).items():
        assert job["timeout-minutes"] <= 120, name
        for step in job["steps"]:
            if step.get("uses", "").startswith("actions/checkout@"):
                assert step["with"]["persist-credentials"] is False, name


@each_workflow
def test_a_script_takes_nothing_from_an_expression_that_others_can_write(path: Path) -> None:
    assert [run for run in steps(path, "run") if "${{" in run] == []

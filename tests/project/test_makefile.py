"""`make help` is complete, and what is written about make is true."""

import re
import subprocess
from pathlib import Path

import pytest

from tests.left_out import LEFT_OUT, said
from tests.project.makefile import PHONY, ROOT, TARGETS, called

PAGES = [
    "CONTRIBUTING.md",
    "changes/README.md",
    ".pre-commit-config.yaml",
    ".github/pull_request_template.md",
]


def test_help_names_every_target_once() -> None:
    done = subprocess.run(
        ["make", "help"], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True
    )

    shown = re.findall(r"^  make (\S+)  +\S", done.stdout, re.MULTILINE)
    assert sorted(shown) == sorted(TARGETS)


def test_no_target_is_taken_for_a_file() -> None:
    assert sorted(PHONY) == sorted(TARGETS)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_for_contributors_names_targets_that_exist(page: str) -> None:
    code = re.findall(r"(?:`|^|: )(make [^`#\n]+)", (ROOT / page).read_text(), re.MULTILINE)

    named = called("\n".join(code))

    assert named
    assert named <= TARGETS


@pytest.mark.parametrize("target", ["changelog", "release"])
def test_a_target_that_needs_a_version_says_so_in_one_sentence(target: str, tmp_path: Path) -> None:
    done = subprocess.run(
        ["make", "--no-print-directory", target],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip

    assert done.returncode == 2
    assert 'error: "" is not a version: write three numbers, such as VERSION=1.2.3.' in done.stderr


def test_a_run_names_for_each_kind_that_it_leaves_out_the_target_that_runs_it() -> None:
    lines = said("not slow and not apiserver and not cluster")

    assert [called(line) for line in lines] == [{"slow"}, {"apiserver"}, {"e2e"}]
    assert said("apiserver") == []
    assert said("") == []


def test_unit_leaves_out_every_kind_that_can_be_left_out() -> None:
    done = subprocess.run(
        ["make", "--dry-run", "unit"],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip

    assert all(f"not {mark}" in done.stdout for mark in LEFT_OUT)

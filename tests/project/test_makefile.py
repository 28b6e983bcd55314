"""`make help` is complete, and what is written about make is true."""

import re
import subprocess
from pathlib import Path

import pytest

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
    assert 'error: "" is no version: write three numbers, such as VERSION=1.2.3.' in done.stderr

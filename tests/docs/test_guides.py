"""The guides name everything that there is of what they explain, and nothing that there is not."""

import re
from pathlib import Path

import pytest
import yaml

from afresh.api.phases import PackagePhase
from afresh.cli.looks import EXIT_CODES, TIMED_OUT
from afresh.core.reasons import Reason
from tools.docsgen.reason_phases import OF_PACKAGES

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
DEBUG = DOCS / "how-to" / "debug-a-stalled-package.md"
ALERTS = DOCS / "how-to" / "alerts-at-night.md"
# What passes within a moment, or is told by its phase alone.
PASSING = {Reason.BEING_DELETED, Reason.EPISODE_RUNNING}


def section(page: Path, head: str) -> str:
    """The text below a heading of the second level, up to the next one."""
    return page.read_text().partition(f"\n## {head}\n")[2].partition("\n## ")[0]


def first_cells(text: str) -> set[str]:
    """The names in the first cells of a text's tables."""
    return set(re.findall(r"^\| `(\w+)`", text, re.MULTILINE))


def reasons_in(*phases: PackagePhase) -> set[str]:
    """The reasons that the loop gives a package in these phases."""
    return {name for phase in phases for name in OF_PACKAGES[phase]} - PASSING


def test_the_page_on_debugging_has_every_reason_that_stalls_a_package_and_no_other() -> None:
    documented = first_cells(section(DEBUG, "When it is stalled"))
    waits = reasons_in(PackagePhase.PENDING)  # these stall it after an hour, and stay what they are

    assert documented == reasons_in(PackagePhase.STALLED) - waits
    assert "waited for an hour" in section(DEBUG, "When it is stalled")


def test_the_page_on_debugging_has_every_reason_for_which_a_package_waits() -> None:
    documented = first_cells(section(DEBUG, "When it waits"))

    assert documented == reasons_in(PackagePhase.PENDING, PackagePhase.QUEUED)


def test_the_page_on_debugging_says_of_every_phase_that_is_no_success_what_to_do() -> None:
    documented = first_cells(section(DEBUG, "From the list to the cause"))

    assert documented == OF_PACKAGES.keys() - {PackagePhase.SUCCEEDED}


def test_the_page_on_alerts_has_every_alert_of_the_chart_with_its_severity() -> None:
    files = sorted((ROOT / "charts" / "afresh" / "alerts").glob("*.yaml"))
    rules = [
        rule
        for file in files
        for group in yaml.safe_load(file.read_text())["groups"]
        for rule in group["rules"]
    ]

    documented = re.findall(r"^\| `(\w+)` \| (\w+) \|", ALERTS.read_text(), re.MULTILINE)
    assert rules
    assert sorted(documented) == sorted(
        (rule["alert"], rule["labels"]["severity"]) for rule in rules
    )


ATTACKS = sorted(set(re.findall(r"`([\w/]+/test_\w+\.py)`", (DOCS / "security.md").read_text())))


@pytest.mark.parametrize("file", ATTACKS)
def test_a_test_that_the_page_on_security_names_is_there(file: str) -> None:
    assert (ROOT / file).is_file() or (ROOT / "tests" / file).is_file()


def test_every_threat_has_a_test_or_says_what_remains() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in section(DOCS / "security.md", "Threats").splitlines()
        if line.startswith("| ") and not line.startswith("| threat")
    ]

    assert rows
    assert [row[0] for row in rows if not (row[2] or row[3])] == []


def test_every_exit_code_of_wait_is_in_concepts_and_in_the_page_of_exit_codes():
    looking = section(DOCS / "concepts.md", "Looking")
    page = (DOCS / "reference" / "exit-codes.md").read_text()
    own = sorted(EXIT_CODES.values())

    listed = [int(code) for code in re.findall(r"^\| (\d+) \|", looking, re.MULTILINE)]

    assert listed == [0, 1, 2, *own, TIMED_OUT]
    assert f"| {own[0]} to {own[-1]}, {TIMED_OUT} | `afresh wait`" in page

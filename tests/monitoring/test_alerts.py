"""The alerts: each fires in a situation of `alerts/*.yaml` and keeps silent in another."""

import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.docs.test_links import anchors

ROOT = Path(__file__).parents[2]
RULES = sorted((ROOT / "charts" / "afresh" / "alerts").glob("*.yaml"))
STORIES = Path(__file__).parent / "alerts"
ALERTS = [
    pytest.param(path.stem, rule, id=rule["alert"])
    for path in RULES
    for group in yaml.safe_load(path.read_text())["groups"]
    for rule in group["rules"]
]


def run(*arguments: str | Path) -> str:
    done = subprocess.run(
        [str(item) for item in arguments], capture_output=True, text=True, timeout=600, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_rule_files_are_rules_to_prometheus(promtool: Path) -> None:
    output = run(promtool, "check", "rules", "--lint-fatal", *RULES)

    assert output.count("SUCCESS") == len(RULES) == 3


@pytest.mark.parametrize("path", RULES, ids=lambda path: path.stem)
def test_the_alerts_fire_when_they_should_and_only_then(
    promtool: Path, path: Path, tmp_path: Path
) -> None:
    rules = yaml.safe_load(path.read_text())
    for rule in rules["groups"][0]["rules"]:
        # promtool would have each repeated word for word
        del rule["annotations"]["description"], rule["annotations"]["runbook_url"]
    story = yaml.safe_load((STORIES / path.name).read_text())
    (tmp_path / path.name).write_text(yaml.safe_dump(rules))
    output = tmp_path / f"test-{path.name}"
    output.write_text(yaml.safe_dump({**story, "rule_files": [path.name]}))

    assert run(promtool, "test", "rules", output).count("SUCCESS") == 1


@pytest.mark.parametrize(("file", "rule"), ALERTS)
def test_an_alert_has_a_situation_in_which_it_fires_and_one_in_which_not(
    file: str, rule: dict[str, Any]
) -> None:
    story = yaml.safe_load((STORIES / f"{file}.yaml").read_text())
    asked = [item for test in story["tests"] for item in test["alert_rule_test"]]
    fires = {bool(item.get("exp_alerts")) for item in asked if item["alertname"] == rule["alert"]}

    assert fires == {True, False}


@pytest.mark.parametrize(("file", "rule"), ALERTS)
def test_an_alert_says_what_to_do_with_labels_that_it_has(file: str, rule: dict[str, Any]) -> None:
    notes = rule["annotations"]
    by = re.findall(r"by \(([^)]*)\)", rule["expr"])
    has = {label.strip() for labels in by for label in labels.split(",")}
    used = set(re.findall(r"\$labels\.(\w+)", notes["summary"] + notes["description"]))

    assert used <= has
    assert "://" not in notes["description"]
    assert len(notes["description"]) > len(notes["summary"])
    assert rule["labels"]["severity"] in ("critical", "warning", "info")


@pytest.mark.parametrize(("file", "rule"), ALERTS)
def test_an_alert_leads_to_a_page_of_the_docs_that_says_what_to_do(
    file: str, rule: dict[str, Any]
) -> None:
    path, _, anchor = rule["annotations"]["runbook_url"].partition("/#")
    page = ROOT / "docs" / f"{path.removesuffix('/')}.md"

    assert anchor == "" or anchor in anchors(page), file
    assert page.is_relative_to(ROOT / "docs" / "how-to")


def test_an_alert_leads_where_the_table_of_the_page_does() -> None:
    page = (ROOT / "docs" / "how-to" / "alerts-at-night.md").read_text()
    rows = dict(re.findall(r"^\| `(Afresh\w+)` \|.*\| (.*) \|$", page, re.MULTILINE))

    own = "how-to/alerts-at-night/"
    for _, rule in (param.values for param in ALERTS):
        link = re.search(r"\]\(([a-z-]*)(?:\.md)?(#[a-z-]+)?\)", rows[rule["alert"]])
        if link:
            want = (f"how-to/{link[1]}/" if link[1] else own) + (link[2] or "")
        else:
            want = f"{own}#find-the-alert"
        assert rule["annotations"]["runbook_url"] == want

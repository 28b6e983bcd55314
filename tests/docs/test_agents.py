"""The page on agents promises what the runner and the loop do."""

import re
from pathlib import Path

import pytest
import yaml

from afresh.api.agent_class import AgentClass
from afresh.api.work_package import WorkPackage
from afresh.contract import pod_layout
from afresh.contract.abilities import ABILITIES
from afresh.core.decision import StartEpisode
from afresh.episode.outbox import NAMES, TEXT_LIMIT
from tests.core.exploration.world import World, decided

ROOT = Path(__file__).resolve().parents[2]
PAGES = ["README.md", "docs/how-to/own-agent.md"]
PAGE = "".join(
    (ROOT / "docs" / name).read_text() for name in ("reference/agents.md", "how-to/own-agent.md")
)


def first_cells(head: str) -> set[str]:
    """The first cells of the table that begins with `head`."""
    table = PAGE.partition(f"| {head} |")[2].partition("\n\n")[0]
    return set(re.findall(r"^\| `([^`]+)` \|", table, re.MULTILINE))


def package_and_class(page: str) -> tuple[WorkPackage, AgentClass]:
    blocks = re.findall(r"^```yaml\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    documents = [item for block in blocks for item in yaml.safe_load_all(block)]
    package = next(item for item in documents if item["kind"] == "WorkPackage")
    name = package["spec"]["agentClassName"]
    agent_class = next(item for item in documents if item["metadata"]["name"] == name)
    return WorkPackage.model_validate(package), AgentClass.model_validate(agent_class)


@pytest.mark.parametrize("page", PAGES)
def test_the_package_and_the_class_of_a_page_belong_together_and_an_episode_starts(page) -> None:
    package, agent_class = package_and_class(page)

    decision = decided(World(package=package, agent_class=agent_class))
    starts = [item for item in decision.actions if isinstance(item, StartEpisode)]
    assert [member.subtask for item in starts for member in item.members] == ["T001"]


def test_the_table_of_adapters_has_those_that_a_package_can_use() -> None:
    assert first_cells("`spec.adapter`") == set(ABILITIES)


def test_the_table_of_the_outbox_has_the_files_that_the_runner_reads() -> None:
    assert first_cells("file") == {f"{name}.md" for name in NAMES}
    assert f"{TEXT_LIMIT >> 10} KiB" in PAGE


@pytest.mark.parametrize("path", [pod_layout.WORKTREE, pod_layout.AGENT_HOME])
def test_the_places_that_the_page_names_are_those_of_the_pod(path) -> None:
    assert f"`{path}`" in PAGE

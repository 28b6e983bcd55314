"""Each adapter has all that belongs to one; what one lacks is named, with where it goes.

CONTRIBUTING.md walks through the same places.
"""

import re
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest
import yaml

from afresh.adapters.adapter import Adapter, Context
from afresh.adapters.registry import adapter_of
from afresh.contract.abilities import ABILITIES
from afresh.contract.order import Agent
from afresh.contract.words import AdapterName
from tests.adapters.streams import STREAMS, UUID
from tests.episode.matrix import INSTALL
from tests.images.test_image_contents import CEILINGS

ROOT = Path(__file__).parents[2]
AGENTS = (ROOT / "docs" / "reference" / "agents.md").read_text()
GUIDE = (ROOT / "CONTRIBUTING.md").read_text()
VALUES = yaml.safe_load((ROOT / "charts" / "afresh" / "values.yaml").read_text())
# A program of the user's own: its image, page and class are the user's too.
NAMED = sorted(set(AdapterName) - {AdapterName.COMMAND})


def has_section(name: str) -> bool:
    """Whether the page on agents has a row that links to a section with a class of the adapter.

    Claude Code's class is that of every other page.
    """
    row = re.search(
        rf"^\| `{name}` \| (.+?), in the image `agent-{name.lower()}` \|", AGENTS, re.MULTILINE
    )
    if row is None or f"\n## {row[1].removesuffix(' CLI')}" not in AGENTS:
        return False
    return name == AdapterName.CLAUDE or f"\n  adapter: {name}\n" in AGENTS


# They print text.
WITHOUT_EVENTS = {AdapterName.AIDER}

# By the path or the name under which CONTRIBUTING.md tells of it.
PLACES: Mapping[str, Callable[[str], bool]] = {
    "`AdapterName` in `controller/afresh/contract/words.py`": lambda name: name in set(AdapterName),
    "`controller/afresh/contract/abilities.py`": lambda name: name in ABILITIES,
    "`controller/afresh/adapters/NAME.py`": lambda name: bool(
        find_spec(f"afresh.adapters.{name.lower()}")
    ),
    "`tests/adapters/test_NAME.py`": lambda name: (
        ROOT / "tests" / "adapters" / f"test_{name.lower()}.py"
    ).is_file(),
    "`STREAMS` in `tests/adapters/streams.py`": lambda name: (
        name in STREAMS or name in WITHOUT_EVENTS
    ),
    "`deploy/images/agent-NAME/Dockerfile`": lambda name: (
        ROOT / "deploy" / "images" / f"agent-{name.lower()}" / "Dockerfile"
    ).is_file(),
    "`CEILINGS` in `tests/images/test_image_contents.py`": lambda name: (
        f"agent-{name.lower()}" in CEILINGS
    ),
    "`agentClasses` in `charts/afresh/values.yaml`": lambda name: (
        VALUES["agentClasses"].get(name.lower(), {}).get("adapter") == name
    ),
    "`docs/reference/agents.md`": has_section,
    "`INSTALL` in `tests/episode/matrix.py`": lambda name: name in INSTALL,
}


def missing_of(name: str) -> list[str]:
    """Return the places that hold nothing of the adapter."""
    return [
        place.replace("NAME", name.lower()) for place, holds in PLACES.items() if not holds(name)
    ]


@pytest.mark.parametrize("name", NAMED)
def test_adapter_is_in_every_place_that_the_guide_names(name: AdapterName) -> None:
    missing = missing_of(name)

    assert missing == [], f"add {name} to each, as CONTRIBUTING.md says"


@pytest.mark.parametrize("name", AdapterName)
def test_adapter_is_found_by_its_name_and_has_what_every_adapter_promises(
    name: AdapterName,
) -> None:
    promised = {member for member in vars(Adapter) if not member.startswith("_")}

    assert type(adapter_of(name)).__name__ == f"{name}Adapter"
    assert {"version", "launch", "reader"} <= promised
    assert [member for member in promised if not hasattr(adapter_of(name), member)] == []


@pytest.mark.parametrize("base_url", ["http://127.0.0.1:8787", None], ids=["a gateway", "none"])
@pytest.mark.parametrize("name", AdapterName)
def test_later_call_names_the_session_if_the_program_resumes_and_else_equals_the_first(
    name: AdapterName, base_url: str | None
) -> None:
    agent, adapter = Agent(adapter=name, command=("my-agent",)), adapter_of(name)

    first = adapter.launch(agent, "the brief", base_url, Context(is_kept=True))
    later = adapter.launch(agent, "the brief", base_url, Context(is_kept=True, session=UUID))

    assert UUID not in first.argv
    assert (UUID in later.argv) is ABILITIES[name].resumes
    assert (later == first) is not ABILITIES[name].resumes


@pytest.mark.parametrize("name", AdapterName)
def test_brief_is_on_standard_input_and_not_in_an_argument(name: AdapterName) -> None:
    launch = adapter_of(name).launch(Agent(adapter=name), "the brief", None)

    assert launch.stdin == "the brief"
    assert not any("the brief" in word for word in launch.argv)


def test_what_is_no_adapter_yet_lacks_everything() -> None:
    assert missing_of("Nobody") == [place.replace("NAME", "nobody") for place in PLACES]


def test_guide_names_the_places_in_the_order_of_the_work() -> None:
    section = GUIDE.partition("\n## Add an agent adapter\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| .+? \| (.+?) \|$", section, re.MULTILINE)[1:]

    assert len(rows) == len(PLACES)
    assert [row for row, place in zip(rows, PLACES, strict=True) if place not in row] == []

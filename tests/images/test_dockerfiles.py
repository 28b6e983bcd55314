"""What must hold for every image, read from its Dockerfile."""

import json
import re
from pathlib import Path

import pytest

from afresh.adapters.registry import adapter_of
from afresh.contract.words import AdapterName
from tools.singlenode.image_recipe import ImageRecipe, all_images
from tools.singlenode.paths import IMAGES

_REQUIREMENTS = IMAGES / "requirements"


def image_of(name: AdapterName) -> str:
    """The image that holds an adapter's program."""
    return f"agent-{name.lower()}"


def _text(image: str) -> str:
    return ImageRecipe(image).dockerfile.read_text()


def _stages(image: str) -> dict[str, str]:
    """The text of each named stage."""
    parts = re.split(r"^FROM ", _text(image), flags=re.MULTILINE)[1:]
    heads = [part.split("\n", 1) for part in parts]
    return {
        head.partition(" AS ")[2]: f"{head.partition(' AS ')[0]}\n{body.split(chr(10) * 2)[0]}"
        for head, body in heads
    }


def test_the_images_are_the_ones_that_the_project_needs() -> None:
    agents = [image_of(name) for name in AdapterName]

    assert all_images() == sorted([*agents, "demo", "operator", "runner"])


@pytest.mark.parametrize("image", all_images())
def test_an_image_begins_with_the_same_base(image: str) -> None:
    text = _text(image)

    assert "\nARG BASE=debian:trixie-slim\nFROM $BASE AS python\n" in text
    bases = set(re.findall(r"^FROM (\S+)", text, re.MULTILINE)) - {"$BASE"}
    assert bases <= set(re.findall(r" AS (\S+)$", text, re.MULTILINE))


@pytest.mark.parametrize("stage", ["python", "git", "pip"])
def test_a_stage_of_several_images_is_the_same_text_so_that_it_is_built_once(stage: str) -> None:
    texts = {_stages(image)[stage] for image in all_images() if stage in _stages(image)}

    assert len(texts) == 1


@pytest.mark.parametrize("image", all_images())
def test_an_image_does_not_run_as_root(image: str) -> None:
    users = re.findall(r"^USER (.*)$", _text(image), re.MULTILINE)

    assert users == ["65532:65532"]


@pytest.mark.parametrize("image", all_images())
def test_an_image_keeps_no_package_lists(image: str) -> None:
    stages = _stages(image)
    kept = [stage for name, stage in stages.items() if name in ("python", "git", "")]

    installing = [stage for stage in kept if "apt-get install" in stage]

    assert installing
    assert all("rm -rf /var/lib/apt/lists/*" in stage for stage in installing)


@pytest.mark.parametrize("image", all_images())
def test_what_is_fetched_from_a_registry_is_pinned(image: str) -> None:
    for line in re.sub(r"\\\n", " ", _text(image)).splitlines():
        for fetch in re.findall(r"pip install ([^&]*)", line):
            assert "--require-hashes" in fetch or "--no-index" in fetch
        assert not re.search(r"\b(npm (i|install|exec)|npx|curl|wget)\b", line)


LOCKS = sorted((IMAGES / "npm").glob("*/package-lock.json"))


@pytest.mark.parametrize("path", LOCKS, ids=lambda path: path.parent.name)
def test_a_lock_has_a_hash_of_every_package_and_names_no_registry(path: Path) -> None:
    text = path.read_text()
    locked = json.loads(text)["packages"]
    root, installed = locked.pop(""), locked.values()

    assert (
        root["dependencies"]
        == json.loads((path.parent / "package.json").read_text())["dependencies"]
    )
    assert installed
    assert all(entry["integrity"].startswith("sha512-") for entry in installed)
    assert not any("resolved" in entry for entry in installed)
    assert "registry" not in text


def test_the_locks_hold_the_versions_that_the_adapters_know() -> None:
    copied = {
        folder: name
        for name in AdapterName
        for folder in re.findall(r"\nCOPY deploy/images/npm/(\S+)/ ", _text(image_of(name)))
    }

    known = {folder: adapter_of(name).version for folder, name in copied.items()}
    locked = {
        path.parent.name: set(
            json.loads((path.parent / "package.json").read_text())["dependencies"].values()
        )
        for path in LOCKS
    }
    assert locked == {folder: {version} for folder, version in known.items()}


def test_the_pinned_packages_of_a_program_hold_the_version_that_its_adapter_knows() -> None:
    pinned = (_REQUIREMENTS / "aider.txt").read_text()

    assert f"aider-chat=={adapter_of(AdapterName.AIDER).version} " in pinned

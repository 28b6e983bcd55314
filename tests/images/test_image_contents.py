"""What is in the images that are built: how much, whose, and nothing that was left behind."""

import re
import tarfile
from collections.abc import Callable

import pytest

from tests.e2e.cluster import tool
from tools.release.build import sources_of
from tools.release.oci_image import ArchiveEntry, Image, LayerShelf, read
from tools.release.package_list import debian_files, is_wanted, packages
from tools.singlenode import images
from tools.singlenode.image_recipe import all_images
from tools.singlenode.paths import IMAGES

pytestmark = pytest.mark.cluster

# Unpacked, in millions of bytes. The runner's and agent-claude's are promises; the others are what
# was measured and a tenth more.
CEILINGS = {
    "agent-aider": 875,
    "agent-claude": 500,
    "agent-codex": 650,
    "agent-command": 242,
    "agent-gemini": 462,
    "agent-opencode": 446,
    "agent-qwen": 450,
    "demo": 243,
    "operator": 297,
    "runner": 250,
}
_SET_ID = 0o6000
_WRITABLE_BY_OTHERS = 0o002
_LEFT_BEHIND = (
    "root/.cache/", "root/.config/", "root/.local/", "root/.npm/", "run/secrets/", "tmp/",
    "var/cache/apt/", "var/lib/apt/lists/", "var/log/", "var/tmp/",
)  # fmt: skip
Found = Callable[[str], Image]
each_image = pytest.mark.parametrize("name", all_images())


@pytest.fixture(scope="module")
def image() -> Found:
    tool("images")
    shelf = LayerShelf(is_wanted)
    known: dict[str, Image] = {}

    def find(name: str) -> Image:
        if name not in known:
            known[name] = read(images.archive_of(name, images.DEFAULT_TAG), shelf)
        return known[name]

    return find


def files(image: Image) -> list[ArchiveEntry]:
    return [entry for entry in image.entries.values() if entry.kind == tarfile.REGTYPE]


def pins(requirements: str) -> set[str]:
    text = (IMAGES / "requirements" / requirements).read_text()
    return set(re.findall(r"^([a-z0-9-]+==[^ ;\\]+)", text, re.MULTILINE))


def test_every_image_has_a_ceiling() -> None:
    assert sorted(CEILINGS) == all_images()


@each_image
def test_an_image_stays_below_its_ceiling(image: Found, name: str) -> None:
    assert image(name).unpacked_bytes <= CEILINGS[name] * 1_000_000


@each_image
def test_an_image_runs_as_the_user_that_its_recipe_names(image: Found, name: str) -> None:
    assert image(name).config["User"] == "65532:65532"


@each_image
def test_only_debians_own_programs_change_the_user(image: Found, name: str) -> None:
    own = debian_files(image(name))
    changing = {entry.path for entry in files(image(name)) if entry.mode & _SET_ID}

    assert changing
    assert changing - own == set()


@each_image
def test_no_file_belongs_to_the_agent_or_can_be_changed_by_it(image: Found, name: str) -> None:
    found = [
        entry.path for entry in files(image(name)) if entry.uid or entry.mode & _WRITABLE_BY_OTHERS
    ]

    assert found == []


@each_image
def test_nothing_is_left_of_how_an_image_was_made(image: Found, name: str) -> None:
    left = [
        entry.path
        for entry in files(image(name))
        if entry.path.startswith(_LEFT_BEHIND) and entry.size
    ]

    assert left == []


@pytest.mark.parametrize(
    ("name", "own"),
    [("runner", {"afresh"}), ("operator", {"afresh"}), ("agent-aider", set())],
    ids=["runner", "operator", "agent-aider"],
)
def test_an_image_holds_the_python_packages_that_are_pinned_and_no_other(
    image: Found, name: str, own: set[str]
) -> None:
    listed = packages(image(name), sources_of(name))

    found = {(item.name, item.version) for item in listed if item.kind == "pypi"}
    wanted = {tuple(pin.split("==")) for pin in pins(f"{name.removeprefix('agent-')}.txt")}
    assert {item for item in found if item[0] not in own} == wanted
    assert own <= {package for package, _ in found}


@each_image
def test_the_list_of_an_image_names_debians_packages(image: Found, name: str) -> None:
    listed = packages(image(name), sources_of(name))

    debian = {item.name for item in listed if item.kind == "deb"}
    assert {"libc6", "python3", "ca-certificates"} <= debian
    assert ("git" in debian) is (name != "operator")

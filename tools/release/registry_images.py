"""Builds the images for a registry, and pushes them if asked to.

    python3 -m tools.release.registry_images --registry registry.example.com/afresh

Owns the options and the output. Must not know how a builder is called.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.release import versions
from tools.release.image_builders import (
    BuilderError,
    BuilderStep,
    ImageBuild,
    ImageBuilder,
    find_builder,
)
from tools.singlenode import host_settings
from tools.singlenode.errors import ClusterError
from tools.singlenode.image_recipe import ImageRecipe, all_images, copied_sources
from tools.singlenode.paths import REPOSITORY

_REGISTRY = re.compile(r"[a-zA-Z0-9.-]+(:[0-9]+)?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*")
_TAG = re.compile(r"\w[\w.-]{0,127}", re.ASCII)
_PLATFORM = re.compile(r"linux/[a-z0-9]+(/v[0-9]+)?")
# npm's names of processors, by those of image platforms.
_PROCESSORS = {"amd64": "x64", "386": "ia32"}
# The names of processors in image platforms, by those of the kernel.
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}
_ERRORS = (BuilderError, ClusterError, versions.VersionError)


class ImageRequestError(Exception):
    """The options cannot be used; the message is one sentence with the remedy."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRequest:
    """The options, with defaults. Without platforms, the platform of this machine is used."""

    registry: str
    tag: str
    images: tuple[str, ...]
    platforms: tuple[str, ...]
    base: str
    is_pushed: bool

    def reference(self, image: str) -> str:
        """The name under which nodes pull an image."""
        return f"{self.registry}/{image}:{self.tag}"


def parse_request(options: argparse.Namespace, version: str) -> ImageRequest:
    """Check the options; `version` is the default tag. Raises ImageRequestError."""
    if not options.registry:
        raise ImageRequestError(
            "REGISTRY is missing: name the registry that nodes pull from, such as "
            "REGISTRY=registry.example.com/afresh."
        )
    if not _REGISTRY.fullmatch(options.registry):
        raise ImageRequestError(
            f'"{options.registry}" is not a registry with a path: write it without https:// and '
            "without a tag, such as REGISTRY=registry.example.com/afresh."
        )
    tag = options.tag or version
    if not _TAG.fullmatch(tag):
        raise ImageRequestError(f'"{tag}" is not a tag: write one such as TAG=1.0.')
    if options.push not in ("", "0", "1"):
        raise ImageRequestError(f'PUSH cannot be "{options.push}": write PUSH=1, or leave it out.')
    platforms = tuple(options.platforms.replace(",", " ").split())
    for platform in platforms:
        if not _PLATFORM.fullmatch(platform):
            raise ImageRequestError(
                f'"{platform}" is not a platform: write PLATFORMS=linux/amd64,linux/arm64.'
            )
    return ImageRequest(
        registry=options.registry,
        tag=tag,
        images=_chosen(options.only, platforms),
        platforms=platforms,
        base=options.base,
        is_pushed=options.push == "1",
    )


def find_platforms(image: str, platforms: Sequence[str]) -> tuple[str, ...]:
    """Return those of the platforms for which the programs of an image are locked."""
    sources = copied_sources(ImageRecipe(image).dockerfile.read_text())
    locks = [lock for path in sources if (lock := REPOSITORY / path / "package-lock.json").exists()]
    locked = [
        entry for lock in locks for entry in json.loads(lock.read_text())["packages"].values()
    ]
    needed = [entry for entry in locked if "cpu" in entry and not entry.get("optional")]
    return tuple(
        platform
        for platform in platforms
        if all(_processor(platform) in entry["cpu"] for entry in needed)
    )


def build_images(
    request: ImageRequest, builder: ImageBuilder, environment: Mapping[str, str]
) -> None:
    """Build each image, and push it before the next one. Raises BuilderError."""
    with tempfile.TemporaryDirectory(prefix="afresh-images-") as scratch:
        options = host_settings.write_secrets(Path(scratch), environment)
        if request.base:
            options += ["--build-arg", f"BASE={request.base}"]
        for image in request.images:
            _build(request, builder, image, tuple(options))


def render_values(request: ImageRequest) -> str:
    """Return the chart's values for these images, for people to copy."""
    return (
        f"To install the chart with the images of {request.registry}, add\n\n"
        f"  --set image.registry={request.registry} --set-string image.tag={request.tag}\n\n"
        "or use these values:\n\n"
        f'  image:\n    registry: "{request.registry}"\n    tag: "{request.tag}"\n'
    )


def _chosen(named: str, platforms: Sequence[str]) -> tuple[str, ...]:
    """Return the images that were named, or all that can be built for some of the platforms."""
    names = tuple(named.replace(",", " ").split()) or tuple(all_images())
    machine = os.uname().machine
    wanted = platforms or (f"linux/{_MACHINES.get(machine, machine)}",)
    kept = tuple(name for name in names if find_platforms(name, wanted))
    if absent := [name for name in names if name not in kept]:
        if named:
            raise ImageRequestError(
                f"{absent[0]} cannot be built for {' or '.join(wanted)}, because its lock file has "
                "packages for other processors only: leave it out of ONLY, or change PLATFORMS."
            )
        for name in absent:
            _say(f"{name} is left out: its lock file has packages for other processors only.")
    return kept


def _build(
    request: ImageRequest, builder: ImageBuilder, image: str, options: tuple[str, ...]
) -> None:
    reference = request.reference(image)
    platforms = find_platforms(image, request.platforms)
    if platforms != request.platforms:
        _say(f"{image} is built for {' and '.join(platforms)} only: its lock file has no others.")
    wanted = ImageBuild(
        reference=reference,
        dockerfile=ImageRecipe(image).dockerfile,
        context=REPOSITORY,
        platforms=platforms,
        options=options,
        is_pushed=request.is_pushed,
    )
    for command in builder.commands(wanted):
        words = [builder.program, *command.words]
        if command.step is BuilderStep.REMOVE:
            subprocess.run(words, capture_output=True, check=False)
            continue
        _say(f"{'pushing' if command.step is BuilderStep.PUSH else 'building'} {reference} ...")
        # Docker before version 23 gives a build no secrets without this.
        environment = {**os.environ, "DOCKER_BUILDKIT": "1"}
        done = subprocess.run(words, env=environment, stdin=subprocess.DEVNULL, check=False)
        if done.returncode:
            raise BuilderError(_failure(command.step, request, builder, reference))


def _failure(
    step: BuilderStep, request: ImageRequest, builder: ImageBuilder, reference: str
) -> str:
    """Return what failed. The builder has printed the reason before."""
    host = request.registry.partition("/")[0]
    hints = []
    if step is not BuilderStep.BUILD:
        hints.append(f"if the registry needs a login, run `{builder.kind} login {host}`")
    if step is not BuilderStep.PUSH and request.platforms:
        hints.append("a build for another processor needs QEMU's binfmt handlers")
    reason = f"{reference} was not {step.value}: read the output of {builder.kind} above"
    return "; ".join([reason, *hints]) + "."


def _processor(platform: str) -> str:
    word = platform.split("/")[1]
    return _PROCESSORS.get(word, word)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(arguments: list[str] | None = None) -> int:
    """Build the images; return the exit code."""
    parser = argparse.ArgumentParser(prog="make images", description=__doc__)
    for name in ("registry", "tag", "push", "platforms", "builder", "only", "base"):
        parser.add_argument(f"--{name}", default="")
    options = parser.parse_args(arguments)
    try:
        request = parse_request(options, versions.places(REPOSITORY)[0].read(REPOSITORY))
        build_images(request, find_builder(options.builder), os.environ)
    except (*_ERRORS, ImageRequestError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    if not request.is_pushed:
        print("The images are built but not pushed: add PUSH=1 to push them to the registry.")
    print(render_values(request), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())

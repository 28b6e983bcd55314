"""docker, podman and buildah: which of them works here, and how it builds and pushes an image.

Runs nothing but the question whether a builder works. Must not know which images there are.
"""

import enum
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

_QUESTIONS = {
    "docker": ("version", "--format", "{{.Server.Version}}"),
    "podman": ("info",),
    "buildah": ("info",),
}
_KNOWN = "docker, podman or buildah"


class BuilderError(Exception):
    """There is no suitable builder, or it failed; the message is one sentence with the remedy."""


class BuilderStep(enum.Enum):
    """What a command does to an image. `REMOVE` may fail: there may be nothing to remove."""

    REMOVE = "removed"
    BUILD = "built"
    PUSH = "pushed"
    BUILD_AND_PUSH = "built and pushed"


@dataclass(frozen=True, slots=True)
class BuilderCommand:
    """A step, and the words after the builder's name that do it."""

    step: BuilderStep
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageBuild:
    """One image to be built. No platform: that of this machine. `options` go to the builder."""

    reference: str
    dockerfile: Path
    context: Path
    platforms: tuple[str, ...]
    options: tuple[str, ...]
    is_pushed: bool

    @property
    def arguments(self) -> tuple[str, ...]:
        """What the build has after its subcommand, whoever builds, but for the image's name."""
        platform = ("--platform", ",".join(self.platforms)) if self.platforms else ()
        return (*platform, *self.options, "--file", str(self.dockerfile))


@dataclass(frozen=True, slots=True)
class ImageBuilder:
    """A program that builds images, and which of the known ones it is."""

    program: str
    kind: str

    def commands(self, image: ImageBuild) -> list[BuilderCommand]:
        """Return what builds an image, and pushes it if it is to be. Raises BuilderError."""
        return _docker(image) if self.kind == "docker" else _containers(image)


def find_builder(named: str) -> ImageBuilder:
    """Return the builder of that name, or the first that works here. Raises BuilderError."""
    if named and Path(named).name not in _QUESTIONS:
        raise BuilderError(f"BUILDER={named} is not known: choose {_KNOWN}.")
    found = [path for name in ([named] if named else _QUESTIONS) if (path := shutil.which(name))]
    for program in found:
        kind = Path(program).name
        if _works(program, kind):
            return ImageBuilder(program, kind)
    if not found:
        missing = f"{named} is not installed" if named else "no builder of images was found"
        raise BuilderError(f"{missing}: install {_KNOWN}.")
    first = Path(found[0]).name
    raise BuilderError(
        f"{first} is installed but does not work: run `{first} {_QUESTIONS[first][0]}` to see why, "
        "or choose another builder with BUILDER=."
    )


def _works(program: str, kind: str) -> bool:
    question = [program, *_QUESTIONS[kind]]
    try:
        done = subprocess.run(
            question, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=60
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _docker(image: ImageBuild) -> list[BuilderCommand]:
    named = ("--tag", image.reference, str(image.context))
    if len(image.platforms) < 2:
        return _one_platform(image, ("build", *image.arguments, *named))
    if not image.is_pushed:
        raise BuilderError(
            "docker can build for several platforms only if it pushes to the registry: add PUSH=1, "
            "or use another builder with BUILDER=podman or BUILDER=buildah."
        )
    words = ("buildx", "build", "--push", *image.arguments, *named)
    return [BuilderCommand(BuilderStep.BUILD_AND_PUSH, words)]


def _containers(image: ImageBuild) -> list[BuilderCommand]:
    """Podman and buildah are one library with the same words."""
    reference = image.reference
    build = ("build", "--layers", *image.arguments)
    if len(image.platforms) < 2:
        return _one_platform(image, (*build, "--tag", reference, str(image.context)))
    commands = [
        # A list that is there would keep the images of the build before, and an image is no list.
        BuilderCommand(BuilderStep.REMOVE, ("manifest", "rm", reference)),
        BuilderCommand(BuilderStep.REMOVE, ("rmi", reference)),
        BuilderCommand(BuilderStep.BUILD, (*build, "--manifest", reference, str(image.context))),
    ]
    if image.is_pushed:
        words = ("manifest", "push", "--all", reference, f"docker://{reference}")
        commands.append(BuilderCommand(BuilderStep.PUSH, words))
    return commands


def _one_platform(image: ImageBuild, build: tuple[str, ...]) -> list[BuilderCommand]:
    built = BuilderCommand(BuilderStep.BUILD, build)
    pushed = BuilderCommand(BuilderStep.PUSH, ("push", image.reference))
    return [built, pushed] if image.is_pushed else [built]

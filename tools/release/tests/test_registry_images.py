"""The images for a registry: what each builder is told, what is refused, what is said at the end.

The builders are stand-ins that write down how they are called: nothing here needs a real one.
"""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from tools.release.image_builders import ImageBuild, ImageBuilder
from tools.release.registry_images import find_platforms, main
from tools.release.tests.project import ROOT
from tools.singlenode.image_recipe import all_images

REGISTRY = "registry.example.com/afresh"
RUNNER = f"{REGISTRY}/runner:1.0"
BOTH = "linux/amd64,linux/arm64"
# Writes its words down, and those secrets that are there; fails where FAILS_AT has its first words.
STAND_IN = """#!/bin/sh
line="${0##*/}"
for word in "$@"; do
  case $word in
    --secret=id=*,src=*) [ -f "${word##*src=}" ] && word="${word%%,*}" || word="no file" ;;
  esac
  line="$line $word"
done
echo "$line" >>"$RECORD"
case " $FAILS_AT," in *" ${0##*/} $1,"*) exit 1 ;; esac
"""
QUESTIONS = {"docker version --format {{.Server.Version}}", "podman info", "buildah info"}

Install = Callable[..., None]
Recorded = Callable[[], list[str]]


@pytest.fixture
def record(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where the stand-ins write; no other program is on the PATH."""
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("RECORD", str(tmp_path / "record"))
    monkeypatch.setenv("FAILS_AT", "")
    for name in ("PIP_CERT", "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path / "record"


@pytest.fixture
def install(record: Path) -> Install:
    def _install(*names: str) -> None:
        for name in names:
            program = record.parent / "bin" / name
            program.write_text(STAND_IN)
            program.chmod(0o755)

    return _install


@pytest.fixture
def recorded(record: Path) -> Recorded:
    """What was run but for the question whether a builder works; secrets by their names."""

    def _recorded() -> list[str]:
        lines = record.read_text().splitlines() if record.exists() else []
        secrets = " --secret=id=pip.conf --secret=id=npmrc"
        return [line.replace(secrets, "") for line in lines if line not in QUESTIONS]

    return _recorded


def make_images(**words: str) -> int:
    defaults = {"registry": REGISTRY, "tag": "1.0", "only": "runner"} | words
    return main([word for name, value in defaults.items() for word in (f"--{name}", value)])


def files(image: str) -> str:
    return f"--file {ROOT}/deploy/images/{image}/Dockerfile"


FILES = files("runner")
ONE = {"platforms": ""}
OTHER = {"platforms": "linux/arm64"}
SEVERAL = {"platforms": BOTH}


@pytest.mark.parametrize(
    ("builder", "asked", "want"),
    [
        pytest.param("docker", ONE, [
            f"docker build {FILES} --tag {RUNNER} {ROOT}",
            f"docker push {RUNNER}",
        ], id="docker builds for this machine, then pushes"),
        pytest.param("docker", OTHER, [
            f"docker build --platform linux/arm64 {FILES} --tag {RUNNER} {ROOT}",
            f"docker push {RUNNER}",
        ], id="docker builds for another machine, then pushes"),
        pytest.param("docker", SEVERAL, [
            f"docker buildx build --push --platform {BOTH} {FILES} --tag {RUNNER} {ROOT}",
        ], id="docker builds for several platforms into the registry"),
        pytest.param("podman", ONE, [
            f"podman build --layers {FILES} --tag {RUNNER} {ROOT}",
            f"podman push {RUNNER}",
        ], id="podman builds for this machine, then pushes"),
        *(pytest.param(builder, SEVERAL, [
            f"{builder} manifest rm {RUNNER}",
            f"{builder} rmi {RUNNER}",
            f"{builder} build --layers --platform {BOTH} {FILES} --manifest {RUNNER} {ROOT}",
            f"{builder} manifest push --all {RUNNER} docker://{RUNNER}",
        ], id=f"{builder} makes a list for several platforms anew and pushes all of it")
          for builder in ("podman", "buildah")),
    ],
)  # fmt: skip
def test_each_builder_is_told_to_build_and_to_push(
    builder: str, asked: dict[str, str], want: list[str], install: Install, recorded: Recorded
) -> None:
    install(builder)

    assert make_images(push="1", **asked) == 0

    assert recorded() == want


@pytest.mark.parametrize("platforms", ["", BOTH])
def test_nothing_is_pushed_unless_it_is_asked_for(
    platforms: str, install: Install, recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    install("buildah")

    assert make_images(platforms=platforms) == 0

    assert "push" not in " ".join(recorded())
    assert "built but not pushed: add PUSH=1" in capsys.readouterr().out


def test_all_images_are_built_each_pushed_before_the_next_with_the_projects_version(
    install: Install, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("podman")
    version = yaml.safe_load((ROOT / "charts/afresh/Chart.yaml").read_text())["appVersion"]

    machine = os.uname_result(("Linux", "node", "6", "1", "x86_64"))
    monkeypatch.setattr(os, "uname", lambda: machine)

    assert make_images(only="", tag="", push="1") == 0

    pushed = [f"podman push {REGISTRY}/{name}:{version}" for name in all_images()]
    assert recorded()[1::2] == pushed
    assert [line.split()[1] for line in recorded()[::2]] == ["build"] * len(pushed)


@pytest.mark.parametrize("builder", ["podman", "buildah"])
@pytest.mark.parametrize("platforms", ["", BOTH])
def test_a_builder_that_is_installed_knows_every_option(builder: str, platforms: str) -> None:
    if not (program := shutil.which(builder)):
        pytest.skip(f"{builder} is not installed")
    image = ImageBuild(
        reference=RUNNER, dockerfile=ROOT / "Dockerfile", context=ROOT, is_pushed=True,
        platforms=tuple(platforms.split(",")) if platforms else (),
        options=("--secret=id=npmrc,src=npmrc", "--build-arg", "BASE=debian:sid"),
    )  # fmt: skip

    for command in ImageBuilder(program, builder).commands(image):
        depth = 2 if command.words[0] == "manifest" else 1
        asked = [program, *command.words[:depth], "--help"]
        known = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
        options = [word.partition("=")[0] for word in command.words if word.startswith("--")]
        assert [option for option in options if f"{option} " not in known] == []


def test_a_build_gets_this_machines_settings_as_secrets_and_the_base(
    install: Install, record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("docker")
    monkeypatch.setenv("PIP_CERT", str(ROOT / "LICENSE"))

    assert make_images(base="debian:trixie-slim@sha256:12") == 0

    (build,) = [line for line in record.read_text().splitlines() if " build " in line]
    secrets = "--secret=id=pip.conf --secret=id=npmrc --secret=id=ca.crt"
    assert f" build {secrets} --build-arg BASE=debian:trixie-slim@sha256:12 " in build


def test_the_first_builder_that_works_is_taken(
    install: Install, recorded: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    install("docker", "podman", "buildah")
    monkeypatch.setenv("FAILS_AT", "docker version,")

    assert make_images() == 0

    assert [line.split()[0] for line in recorded()] == ["podman"]


def test_a_builder_that_is_named_is_taken(install: Install, recorded: Recorded) -> None:
    install("docker", "podman", "buildah")

    assert make_images(builder="buildah") == 0

    assert [line.split()[0] for line in recorded()] == ["buildah"]


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param(
            {"registry": ""},
            "REGISTRY is missing: name the registry that nodes pull from, such as "
            "REGISTRY=registry.example.com/afresh.",
            id="no registry",
        ),
        pytest.param({"registry": "https://r.io/a"}, "write it without https://", id="an address"),
        pytest.param({"registry": "r.io/a:1.0"}, "and without a tag", id="a tag in the registry"),
        pytest.param({"registry": "r.io/a,b=c"}, "is not a registry", id="a second value"),
        pytest.param({"tag": "1.0/x"}, '"1.0/x" is not a tag', id="no tag"),
        pytest.param({"push": "yes"}, "write PUSH=1, or leave it out", id="no answer"),
        pytest.param({"platforms": "arm64"}, '"arm64" is not a platform', id="no platform"),
        pytest.param({"only": "kernel"}, "there is no image kernel: choose from", id="no image"),
        pytest.param({"builder": "kaniko"}, "choose docker, podman or buildah.", id="no builder"),
        pytest.param(
            {"builder": "podman"},
            "podman is not installed: install docker, podman or buildah.",
            id="a builder that is not there",
        ),
        pytest.param(
            {"platforms": BOTH, "builder": "docker"},
            "docker can build for several platforms only if it pushes to the registry: add PUSH=1",
            id="several platforms that docker cannot keep",
        ),
        pytest.param(
            {"only": "runner agent-opencode", "platforms": "linux/arm64"},
            "agent-opencode cannot be built for linux/arm64, because its lock file",
            id="a program that is not locked for the platform",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_done_is_refused_with_one_sentence_before_anything_is_built(
    asked: dict[str, str],
    want: str,
    install: Install,
    recorded: Recorded,
    capsys: pytest.CaptureFixture[str],
) -> None:
    install("docker")

    assert make_images(**asked) == 1

    said = capsys.readouterr()
    assert recorded() == []
    assert want in said.err
    assert said.out == ""


def test_without_a_builder_the_message_names_those_that_can_do_it(
    record: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert make_images() == 1

    want = "error: no builder of images was found: install docker, podman or buildah.\n"
    assert capsys.readouterr().err == want


def test_a_builder_that_is_there_and_does_not_work_is_named_with_what_to_look_at(
    install: Install, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install("docker")
    monkeypatch.setenv("FAILS_AT", "docker version,")

    assert make_images() == 1

    assert "docker is installed but does not work: run `docker version`" in capsys.readouterr().err


def test_a_push_that_is_refused_says_how_to_log_in_and_nothing_more_is_built(
    install: Install,
    recorded: Recorded,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    install("podman")
    monkeypatch.setenv("FAILS_AT", "podman push,")

    assert make_images(only="operator,runner", push="1") == 1

    said = capsys.readouterr()
    assert f"{REGISTRY}/operator:1.0 was not pushed" in said.err
    assert said.err.endswith("run `podman login registry.example.com`.\n")
    assert "image.registry" not in said.out
    assert RUNNER not in " ".join(recorded())


def test_a_build_into_the_registry_that_fails_says_what_both_halves_need(
    install: Install, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    install("docker")
    monkeypatch.setenv("FAILS_AT", "docker buildx,")

    assert make_images(platforms=BOTH, push="1") == 1

    want = (
        f"error: {RUNNER} was not built and pushed: read the output of docker above; if the "
        "registry needs a login, run `docker login registry.example.com`; a build for another "
        "processor needs QEMU's binfmt handlers.\n"
    )
    assert capsys.readouterr().err.endswith(want)


@pytest.mark.parametrize(("platforms", "has_hint"), [("", False), ("linux/arm64", True)])
def test_a_build_that_fails_names_the_image_and_what_other_processors_need(
    platforms: str,
    has_hint: bool,
    install: Install,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    install("buildah")
    monkeypatch.setenv("FAILS_AT", "buildah build,")

    assert make_images(platforms=platforms) == 1

    said = capsys.readouterr().err
    assert f"{RUNNER} was not built: read the output of buildah above" in said
    assert ("QEMU" in said) is has_hint


def test_an_image_is_built_for_the_platforms_that_its_program_is_locked_for(
    install: Install, recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    install("docker")

    assert make_images(only="agent-opencode", platforms=BOTH, push="1") == 0

    want = f"docker build --platform linux/amd64 {files('agent-opencode')} "
    assert recorded()[0].startswith(want)
    assert "agent-opencode is built for linux/amd64 only" in capsys.readouterr().err


def test_an_image_without_a_program_for_the_platform_is_left_out_of_all(
    install: Install, recorded: Recorded, capsys: pytest.CaptureFixture[str]
) -> None:
    install("podman")

    assert make_images(only="", platforms="linux/arm64") == 0

    assert len(recorded()) == len(all_images()) - 1
    assert "agent-opencode is left out" in capsys.readouterr().err


def test_every_other_image_can_be_built_for_both_processors() -> None:
    both = BOTH.split(",")

    lacking = {image for image in all_images() if find_platforms(image, both) != tuple(both)}
    assert lacking == {"agent-opencode"}


@pytest.mark.parametrize("tag", ["1.0", "20260131"])
def test_what_is_printed_at_the_end_are_values_of_the_chart(
    tag: str, install: Install, capsys: pytest.CaptureFixture[str]
) -> None:
    install("docker")

    assert make_images(tag=tag, push="1") == 0

    said = capsys.readouterr().out
    options, _, values = said.partition("or use these values:")
    known = yaml.safe_load((ROOT / "charts/afresh/values.yaml").read_text())["image"]
    image = yaml.safe_load(values)["image"]
    assert image == {"registry": REGISTRY, "tag": tag}
    assert image.keys() <= known.keys()
    line = next(line for line in options.splitlines() if line.startswith("  --set"))
    assert shlex.split(line) == [
        "--set", f"image.registry={REGISTRY}", "--set-string", f"image.tag={tag}",
    ]  # fmt: skip


def test_make_hands_over_every_variable(install: Install, record: Path, tmp_path: Path) -> None:
    install("docker", "buildah")
    path = f"{tmp_path / 'bin'}:{Path(sys.executable).parent}:/usr/bin:/bin"
    words = [
        f"REGISTRY={REGISTRY}", "TAG=1.0", "ONLY=runner", "PUSH=1", "PLATFORMS=linux/amd64",
        "BUILDER=buildah", "BASE=debian:sid",
    ]  # fmt: skip

    done = subprocess.run(
        ["/usr/bin/make", "images", *words], cwd=ROOT, env={**os.environ, "PATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 0, done.stderr
    assert "image.tag=1.0\n" in done.stdout
    build, push = record.read_text().splitlines()[1:]
    assert build.startswith("buildah build --layers --platform linux/amd64 ")
    assert f"--build-arg BASE=debian:sid {FILES} --tag {RUNNER}" in build
    assert push == f"buildah push {RUNNER}"

"""The cluster that the demo runs on: its own, or the one that the kubeconfig names.

Owns how images get there and how kubectl and helm are called. Must not know the demo's story.
"""

import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
CLUSTER_TOOL = (sys.executable, str(REPOSITORY / "deploy" / "cluster"))
OWN_IMAGES = "localhost/afresh"
OWN_TAG = "dev"
IMAGES = ("runner", "operator", "agent-claude", "demo")
_BEGAN = time.monotonic()


class DemoError(Exception):
    """The demo cannot go on; the message is one sentence with the mend."""


@contextmanager
def step(what: str) -> Iterator[None]:
    """Announce `what`, and how long it took."""
    began = time.monotonic()
    say(f"{what} ...")
    yield
    say(f"{what}: done in {time.monotonic() - began:.1f} s")


def say(text: str) -> None:
    """Print one line with the time since the start."""
    print(f"[{time.monotonic() - _BEGAN:5.1f}s] {text}", flush=True)


@dataclass(frozen=True, slots=True)
class Target:
    """A cluster: the words before `kubectl` and `helm`, and where its images come from."""

    prefix: tuple[str, ...]
    images: str
    tag: str
    kubectl_line: str

    def run(self, *command: str, text: str | None = None) -> str:
        """Run a command against the cluster and return what it prints. Raises DemoError."""
        done = subprocess.run(
            [*self.prefix, *command], input=text, capture_output=True, text=True, check=False
        )
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise DemoError(f"{' '.join(command[:4])} failed: {said[-1] if said else 'no output'}")
        return done.stdout

    def kubectl(self, *arguments: str, text: str | None = None) -> str:
        """Run kubectl and return what it prints. Raises DemoError."""
        return self.run("kubectl", *arguments, text=text)

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Start a command against the cluster; what it prints goes to the terminal."""
        return subprocess.Popen([*self.prefix, *command], text=True)


def own(name: str, images: tuple[str, ...]) -> Target:
    """Start a cluster called `name` and load `images` into it; ends the program if that fails."""
    for words in (
        ("check",),
        ("install",),
        ("images", *images),
        ("up", name),
        ("load", name, *images),
    ):
        _cluster_tool(*words)
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    kubectl = state / "afresh" / "clusters" / name / "kubectl"
    return Target(
        prefix=(*CLUSTER_TOOL, "run", name, "--"),
        images=OWN_IMAGES,
        tag=OWN_TAG,
        kubectl_line=f"{kubectl} get wp,st -n afresh-demo",
    )


def current() -> Target:
    """Use the cluster that the kubeconfig names. Raises DemoError if that cannot be."""
    for program in ("kubectl", "helm"):
        if shutil.which(program) is None:
            raise DemoError(f"CLUSTER=current needs {program} on the PATH: install it.")
    images = os.environ.get("IMAGES")
    tag = os.environ.get("TAG", OWN_TAG)
    target = Target((), images or OWN_IMAGES, tag, "kubectl get wp,st -n afresh-demo")
    context = target.kubectl("config", "current-context").strip()
    if images is None:
        _bring_images(context, tag)
    say(f"using the cluster of the context {context}")
    return target


def _bring_images(context: str, tag: str) -> None:
    """Build the images and hand them to a cluster of containers on this machine."""
    kind, _, cluster = context.partition("-")
    loaders = {
        "kind": ("kind", "load", "docker-image", "--name", cluster),
        "k3d": ("k3d", "image", "import", "--cluster", cluster),
    }
    if kind not in loaders or shutil.which("docker") is None:
        raise DemoError(
            f"The context {context} is neither kind nor k3d with docker here: push the images of "
            "deploy/images to a registry and set IMAGES to it, such as "
            "IMAGES=registry.example.com/afresh TAG=1.0."
        )
    for image in IMAGES:
        name = f"{OWN_IMAGES}/{image}:{tag}"
        dockerfile = REPOSITORY / "deploy" / "images" / image / "Dockerfile"
        with step(f"building {name}"):
            _call("docker", "build", "-q", "-t", name, "-f", str(dockerfile), str(REPOSITORY))
        with step(f"loading {name}"):
            _call(*loaders[kind], name)


def _call(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise DemoError(f"{' '.join(command[:3])} failed: {said[-1] if said else 'no output'}")


def _cluster_tool(*words: str) -> None:
    """Run one command of the cluster tool; it prints its own progress and its own errors."""
    if subprocess.run([*CLUSTER_TOOL, *words], check=False).returncode:
        raise SystemExit(1)

"""The cluster of the demo: one created for it, or the current one of the kubeconfig.

Owns how images get there and how kubectl and helm are called. Must not know the steps of the demo.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tools.singlenode import progress as progress  # noqa: PLC0414

REPOSITORY = Path(__file__).resolve().parents[2]
CLUSTER_TOOL = (sys.executable, str(REPOSITORY / "tools" / "singlenode"))
OWN_IMAGES = "localhost/afresh"
OWN_TAG = "dev"
IMAGES = ("runner", "operator", "agent-claude", "demo")


class DemoError(Exception):
    """The demo cannot continue; the message is one sentence with what to do."""


@dataclass(frozen=True, slots=True)
class DemoCluster:
    """A cluster: the command prefix of `kubectl` and `helm`, and the registry of its images.

    For the user, `kubectl_line` is the command that shows the packages, and `removal` the command
    that removes the demo.
    """

    prefix: tuple[str, ...]
    images: str
    tag: str
    kubectl_line: str
    removal: str

    def run(self, *command: str, text: str | None = None) -> str:
        """Run a command against the cluster and return its output. Raises DemoError."""
        done = subprocess.run(
            [*self.prefix, *command], input=text, capture_output=True, text=True, check=False
        )
        if done.returncode:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise DemoError(f"{' '.join(command[:4])} failed: {said[-1] if said else 'no output'}")
        return done.stdout

    def kubectl(self, *arguments: str, text: str | None = None) -> str:
        """Run kubectl and return its output. Raises DemoError."""
        return self.run("kubectl", *arguments, text=text)

    def start(self, *command: str) -> subprocess.Popen[str]:
        """Start a command against the cluster; its output goes to the terminal."""
        return subprocess.Popen([*self.prefix, *command], text=True)


def own(name: str, images: tuple[str, ...]) -> DemoCluster:
    """Start a cluster with this name and load images into it. Ends the program if that fails."""
    _cluster_tool(("check",))
    # In parallel: compiling Kubernetes and building images mostly use different resources.
    _cluster_tool(("install",), ("images", *images))
    _cluster_tool(("up", name))
    _cluster_tool(("load", name, *images))
    state = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state")
    kubectl = state / "afresh" / "clusters" / name / "kubectl"
    return DemoCluster(
        prefix=(*CLUSTER_TOOL, "run", name, "--"),
        images=OWN_IMAGES,
        tag=OWN_TAG,
        kubectl_line=f"{kubectl} get wp,st -n afresh-demo",
        removal="make demo-down",
    )


def current() -> DemoCluster:
    """Return the kubeconfig's current cluster, with the images loaded. Raises DemoError."""
    target = using_current()
    context = target.kubectl("config", "current-context").strip()
    if "IMAGES" not in os.environ:
        _bring_images(context, target.tag)
    progress.say(f"using the cluster of the context {context}")
    return target


def using_current() -> DemoCluster:
    """Return the kubeconfig's current cluster. Raises DemoError if a program is missing."""
    for program in ("kubectl", "helm"):
        if shutil.which(program) is None:
            raise DemoError(f"CLUSTER=current needs {program} on the PATH: install it.")
    images = os.environ.get("IMAGES", OWN_IMAGES)
    tag = os.environ.get("TAG", OWN_TAG)
    return DemoCluster(
        prefix=(),
        images=images,
        tag=tag,
        kubectl_line="kubectl get wp,st -n afresh-demo",
        removal="make demo-down CLUSTER=current",
    )


def _bring_images(context: str, tag: str) -> None:
    """Build the images and load them into a cluster that runs in containers on this machine."""
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
        with progress.step(f"building {name}"):
            _call("docker", "build", "-q", "-t", name, "-f", str(dockerfile), str(REPOSITORY))
        with progress.step(f"loading {name}"):
            _call(*loaders[kind], name)


def _call(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        said = done.stderr.strip().splitlines()
        raise DemoError(f"{' '.join(command[:3])} failed: {said[-1] if said else 'no output'}")


def _cluster_tool(*calls: tuple[str, ...]) -> None:
    """Run commands of the cluster tool in parallel; they print their progress and errors."""
    began = progress.environment()
    running = [subprocess.Popen([*CLUSTER_TOOL, *words], env=began) for words in calls]
    codes = [process.wait() for process in running]
    if any(codes):
        raise SystemExit(1)

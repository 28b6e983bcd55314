"""One real node for the whole session, on which the demo runs first."""

import os
import subprocess
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.apiserver.guard import guard
from tests.e2e.api import Api
from tests.e2e.cluster import CLUSTER, IMAGES, ROOT, Cluster, tool, wait
from tests.e2e.servers import secret_value, service_url
from tests.e2e.stage import Stage, begin, is_story
from tests.e2e.team import Team
from tests.session_clusters import new_name

DEMO = "afresh-demo"
# What takes over the queues of all namespaces, what looks at all that was done, what removes it.
LAST = ("test_kueue.py", "test_privileges.py", "test_removal.py")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", "story(long): runs at once with the others, the long ones first"
    )
    config.addinivalue_line("markers", "images(*names): what it needs besides the usual images")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Have other tests on nodes done while the stories run, and the last ones afterwards."""
    items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    if item.get_closest_marker("cluster") is None:
        return 0
    if item.path.name in LAST:
        return 4 + LAST.index(item.path.name)
    if is_story(item):
        return 3
    # The first test of this folder begins the stories.
    return 1 if item.path.parent == Path(__file__).parent else 2


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Wait for the end of a story that has begun, in place of calling it."""
    if not is_story(pyfuncitem):
        return None
    begun = pyfuncitem.funcargs["stage"]
    assert isinstance(begun, Stage)
    begun.ends[pyfuncitem.nodeid].result()
    return True


@pytest.fixture(scope="session")
def node(request: pytest.FixtureRequest) -> Iterator[str]:
    """Start a node with every image that a test needs; take it down at the end."""
    name = new_name("e2e")
    marks = (mark for item in request.session.items for mark in item.iter_markers("images"))
    images = sorted({*IMAGES, *(image for mark in marks for image in mark.args)})
    try:
        for words in (("images", *images), ("up", name), ("load", name, *images)):
            tool(*words)
        yield name
    finally:
        subprocess.run([*CLUSTER, "down", name], check=False, timeout=300)


@pytest.fixture(scope="session")
def cluster(node: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Return the node with a way to its API server."""
    with proxy(node, tmp_path_factory.mktemp("api") / "socket") as api:
        yield Cluster(node, api)


@contextmanager
def proxy(node: str, socket: Path) -> Iterator[Api]:
    """Run `kubectl proxy` for as long as the block lasts."""
    command = [*CLUSTER, "run", node, "--", "kubectl", "proxy", f"--unix-socket={socket}"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        wait("kubectl proxy listens", socket.exists, seconds=120, every=0.05)
        yield Api(socket)
    finally:
        process.terminate()
        process.wait(20)


@dataclass(frozen=True)
class DemoRun:
    """What `make demo CLUSTER=current` printed, and how it ended."""

    code: int
    output: str


@pytest.fixture(scope="session")
def demo(cluster: Cluster) -> DemoRun:
    """Run the demo as a user does who has a cluster; the operator and its servers stay.

    From the first, what the operator may not touch is refused, and in the audit log.
    """
    for manifest in guard():
        cluster.kubectl("apply", manifest=manifest)
    environment = ["env", "IMAGES=localhost/afresh"]
    done = cluster.run(
        *environment, "make", "-C", str(ROOT), "--no-print-directory", "demo", "CLUSTER=current",
        timeout=900,
    )  # fmt: skip
    return DemoRun(done.returncode, done.stdout + done.stderr)


@pytest.fixture(scope="session")
def make_team(cluster: Cluster, demo: DemoRun) -> Callable[[str], Team]:
    """Return what makes a namespace that knows the demo's servers."""
    made = {
        "git": service_url(cluster, DEMO, "git"),
        "git_password": secret_value(cluster, DEMO, "git-credentials", "password"),
        "model": service_url(cluster, DEMO, "model"),
        "model_key": secret_value(cluster, DEMO, "model-key", "api-key"),
    }

    def make(name: str) -> Team:
        return Team(
            cluster=cluster, namespace=f"team-{zlib.crc32(name.encode()):08x}-{os.getpid()}", **made
        )

    return make


@pytest.fixture(scope="session")
def stage(request: pytest.FixtureRequest, make_team: Callable[[str], Team]) -> Iterator[Stage]:
    """Begin all stories."""
    with begin(request.session.items, make_team) as begun:
        yield begun


@pytest.fixture(scope="session", autouse=True)
def stories_begin(request: pytest.FixtureRequest) -> None:
    """Begin the stories with the first test of this folder, whatever it is."""
    if any(is_story(item) for item in request.session.items):
        request.getfixturevalue("stage")


@pytest.fixture
def team(stage: Stage, request: pytest.FixtureRequest) -> Team:
    """Return the namespace of the story."""
    return stage.teams[request.node.nodeid]

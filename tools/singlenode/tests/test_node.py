"""A real node: what it offers, and that nothing of it is left, whatever happened to it."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.session_clusters import new_name
from tools.singlenode import cgroups
from tools.singlenode.paths import clusters_home
from tools.singlenode.tests import traces
from tools.singlenode.tests.tool import Tool, until

pytestmark = pytest.mark.cluster

_NAME = f"selftest-{os.getpid()}"


@pytest.fixture(scope="module")
def installed() -> None:
    Tool("none").run("install")


@pytest.fixture
def node(installed: None) -> Iterator[Tool]:
    """The tool for a cluster that does not run yet. Afterwards nothing of it may be left."""
    tool = Tool(new_name("selftest"))
    before = traces.look(_NAME, clusters_home())
    yield tool
    tool.run("down", _NAME)
    assert traces.processes_of(_NAME, clusters_home()) == {}
    assert traces.look(_NAME, clusters_home()).beyond(before) == {}


@pytest.fixture(scope="module")
def shared(installed: None) -> Iterator[Tool]:
    """The tool for a cluster that is up, for tests that only use it: each names its own objects."""
    tool = Tool(new_name("shared"))
    try:
        tool.run("up", tool.name)
        yield tool
    finally:
        tool.run("down", tool.name)
    assert traces.processes_of(tool.name, clusters_home()) == {}


def _pod(name: str, image: str = "pause", **container: Any) -> dict[str, Any]:
    security = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name},
        "spec": {
            "restartPolicy": "Never",
            "terminationGracePeriodSeconds": 60,
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 200001,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "containers": [
                {
                    "name": "main",
                    "image": f"localhost/afresh/{image}:dev",
                    "securityContext": security,
                    **container,
                }
            ],
        },
    }


def test_a_node_with_a_running_pod_goes_without_a_trace(node: Tool) -> None:
    node.run("up", _NAME)
    node.run_pod(_pod("p"))
    during = traces.processes_of(_NAME, clusters_home())

    node.run("down", _NAME)

    # The pod, its sandbox, their shim, and the seven components.
    assert len(during) >= 10
    assert traces.processes_of(_NAME, clusters_home()) == {}
    assert not node.root.exists()


def test_a_node_that_is_up_stays_as_it_is(node: Tool) -> None:
    node.run("up", _NAME)
    first = node.pid("kubelet")

    answer = node.run("up", _NAME)

    assert f"{_NAME} was already running" in answer.stderr
    assert node.pid("kubelet") == first
    assert answer.stdout == f"{node.root / 'kubectl'} get nodes\n"


@pytest.mark.parametrize("component", ["containerd", "etcd"])
def test_a_node_of_which_a_component_died_is_started_anew(node: Tool, component: str) -> None:
    node.run("up", _NAME)
    node.run_pod(_pod("p"))
    node.kill(component)
    until(node.is_half_up)

    answer = node.run("up", _NAME)

    assert f"{_NAME} is incomplete: removing it first" in answer.stderr
    assert node.kubectl("get", "pods", "-o", "name") == ""
    node.run_pod(_pod("q"))


def _is_recorded(node: Tool, component: str) -> Callable[[], bool]:
    return (node.root / "processes" / component).exists


@pytest.mark.parametrize("component", ["etcd", "containerd", "kubelet"])
def test_a_start_that_is_interrupted_undoes_itself(node: Tool, component: str) -> None:
    with node.start("up", _NAME) as start:
        until(_is_recorded(node, component))
        start.send_signal(signal.SIGINT)
        _, said = start.communicate(timeout=300)

    assert start.returncode == 130
    assert f"removing {_NAME} again" in said
    assert not node.root.exists()
    assert traces.processes_of(_NAME, clusters_home()) == {}


@pytest.mark.parametrize("component", ["etcd", "kubelet"])
def test_a_start_that_was_killed_is_taken_down_whole(node: Tool, component: str) -> None:
    with node.start("up", _NAME) as start:
        until(_is_recorded(node, component))
        start.kill()
        start.communicate()

    node.run("down", _NAME)

    assert not node.root.exists()
    assert traces.processes_of(_NAME, clusters_home()) == {}


def test_two_starts_of_one_node_at_once_make_one_node(node: Tool) -> None:
    with node.start("up", _NAME) as one, node.start("up", _NAME) as two:
        said = [process.communicate(timeout=600)[1] for process in (one, two)]

    assert (one.returncode, two.returncode) == (0, 0)
    assert sorted("was already running" in text for text in said) == [False, True]


def test_two_nodes_live_side_by_side_and_go_one_by_one(node: Tool) -> None:
    other = Tool(new_name("selftest-2"))
    try:
        node.run("up", _NAME)
        other.run("up", other.name)
        for tool in (node, other):
            tool.run_pod(_pod("p"))

        node.run("down", _NAME)

        assert traces.processes_of(_NAME, clusters_home()) == {}
        other.run_pod(_pod("q"))
        assert not other.is_half_up()
    finally:
        other.run("down", other.name)
    assert traces.processes_of(other.name, clusters_home()) == {}


def test_a_node_whose_state_is_kept_elsewhere_is_left_alone(node: Tool) -> None:
    group = cgroups.create(f"afresh-{_NAME}")
    with subprocess.Popen(["sleep", "infinity"]) as theirs:
        try:
            group.write_text(str(theirs.pid))

            answer = node.run("up", _NAME, want=1)

            assert "with another state directory runs on this machine" in answer.stderr
            assert theirs.poll() is None
        finally:
            theirs.kill()
    cgroups.remove(f"afresh-{_NAME}", wait_seconds=60)


def test_a_command_runs_in_the_nodes_network_and_its_code_is_passed_on(shared: Tool) -> None:
    script = "import os, socket; socket.create_connection(('10.99.0.1', 6443)); os._exit(7)"

    shared.run("run", shared.name, "--", sys.executable, "-c", script, want=7)
    answer = shared.run("run", shared.name, "--", "kubectl", "get", "nodes", "-o", "name")
    words = shared.run("run", shared.name, "--", "printf", "%s|", "a b", "--", "-c").stdout
    refused = shared.run("run", shared.name, "--", "no-such-command", want=1)

    assert answer.stdout == "node/node0\n"
    assert words == "a b|--|-c|"
    assert "cannot run no-such-command" in refused.stderr


def test_every_write_is_in_the_audit_log_without_its_contents(shared: Tool) -> None:
    shared.kubectl("create", "secret", "generic", "s", "--from-literal=key=hidden-value")
    shared.kubectl("get", "secret", "s")

    entries = [json.loads(line) for line in (shared.root / "audit.log").read_text().splitlines()]
    about = [entry for entry in entries if entry.get("objectRef", {}).get("name") == "s"]
    assert [entry["verb"] for entry in about] == ["create"]
    assert "hidden-value" not in (shared.root / "audit.log").read_text()


_INSIDE = """
import json, os, socket, ssl, urllib.request
account = "/var/run/secrets/kubernetes.io/serviceaccount"
token = open(f"{account}/token").read()
request = urllib.request.Request("https://10.96.0.1/version", headers={
    "Authorization": f"Bearer {token}"})
with urllib.request.urlopen(request, context=ssl.create_default_context(
        cafile=f"{account}/ca.crt")) as answer:
    version = json.load(answer)["gitVersion"]
try:
    socket.create_connection(("192.0.2.1", 443), timeout=3)
    outside = "reached"
except OSError as error:
    outside = type(error).__name__
print(json.dumps({"audience": bool(open("/token/token").read()), "version": version,
                  "outside": outside, "uid": os.getuid()}), flush=True)
"""


def test_a_pod_has_its_account_and_the_service_address_and_no_way_out(shared: Tool) -> None:
    shared.run("images", "agent-command")
    shared.run("load", shared.name, "agent-command")
    pod = _pod("account", "agent-command", command=["python3", "-c", _INSIDE])
    token = {"audience": "afresh", "expirationSeconds": 600, "path": "token"}
    pod["spec"]["volumes"] = [
        {"name": "token", "projected": {"sources": [{"serviceAccountToken": token}]}}
    ]
    pod["spec"]["containers"][0]["volumeMounts"] = [{"name": "token", "mountPath": "/token"}]
    shared.kubectl("label", "ns", "default", "pod-security.kubernetes.io/enforce=restricted")

    shared.kubectl("apply", "-f", "-", stdin=json.dumps(pod))
    shared.kubectl(
        "wait", "pod/account", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=300s"
    )

    found = json.loads(shared.kubectl("logs", "account"))
    assert found.pop("outside") != "reached"
    assert found == {"audience": True, "version": "v1.34.4", "uid": 200001}


def test_a_pod_may_have_so_many_processes_and_no_more(shared: Tool) -> None:
    shared.run_pod(_pod("bounded"))

    uid = shared.kubectl("get", "pod", "bounded", "-o", "jsonpath={.metadata.uid}")
    group = f"afresh-{shared.name}/kubepods/besteffort/pod{uid}"
    limits = [path.read_text() for path in Path("/sys/fs/cgroup").rglob(f"{group}/pids.max")]

    assert limits == ["1024\n"]


def test_an_image_that_was_loaded_is_not_loaded_again(shared: Tool) -> None:
    shared.run("images", "agent-command")
    shared.run("load", shared.name, "agent-command")

    answer = shared.run("load", shared.name, "agent-command")

    assert "localhost/afresh/agent-command:dev was there already" in answer.stderr


def test_the_helm_script_reaches_the_cluster(shared: Tool) -> None:
    answer = subprocess.run(
        [str(shared.root / "helm"), "list", "--output", "json"],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )

    assert json.loads(answer.stdout) == []

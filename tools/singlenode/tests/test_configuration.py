import json
import subprocess
import tomllib
from pathlib import Path

import pytest

from tools.singlenode import components, configuration
from tools.singlenode.components import Component
from tools.singlenode.paths import ClusterPaths

_ONE = ClusterPaths("one")
_TWO = ClusterPaths("two")
_BINARIES = Path("/binaries")


def _node_components(paths: ClusterPaths) -> list[Component]:
    return [
        components.etcd(paths, _BINARIES),
        components.containerd(paths, Path("/usr/bin/containerd")),
        components.api_server(paths, _BINARIES, components.NODE_API),
        components.controller_manager(paths, _BINARIES),
        components.scheduler(paths, _BINARIES),
        components.kubelet(paths, _BINARIES, containerd_pid=7),
        components.proxy(paths, _BINARIES, containerd_pid=7),
    ]


def _everything(paths: ClusterPaths) -> str:
    files = [
        configuration.containerd_config(paths, cni_plugins=Path("/cni")),
        configuration.pod_network(paths),
        configuration.kubelet_config(paths),
    ]
    commands = [" ".join(component.command) for component in _node_components(paths)]
    return "\n".join(files + commands)


def test_two_clusters_name_nothing_of_each_other() -> None:
    one = _everything(_ONE)

    assert one.replace("clusters/one", "").replace("afresh-one", "").count("one") == (
        _everything(_TWO).replace("clusters/two", "").replace("afresh-two", "").count("one")
    )
    assert str(_TWO.root) not in one
    assert _TWO.namespace not in one


def test_containerd_keeps_everything_in_the_clusters_directory() -> None:
    config = tomllib.loads(configuration.containerd_config(_ONE, cni_plugins=Path("/cni")))

    places = [Path(config["root"]), Path(config["state"]), Path(config["grpc"]["address"])]

    assert all(place.is_relative_to(_ONE.root) for place in places)
    cri = config["plugins"]["io.containerd.grpc.v1.cri"]
    assert cri["sandbox_image"] == configuration.PAUSE_IMAGE
    assert cri["cni"] == {"bin_dir": "/cni", "conf_dir": str(_ONE.config / "cni")}


def test_pods_get_no_way_out_and_addresses_of_their_own_cluster() -> None:
    network = json.loads(configuration.pod_network(_ONE))

    bridge = network["plugins"][0]

    assert bridge["ipMasq"] is False
    assert bridge["ipam"]["dataDir"].startswith(str(_ONE.root))


def test_the_kubelet_limits_processes_and_lets_no_stranger_in() -> None:
    config = json.loads(configuration.kubelet_config(_ONE))

    assert config["podPidsLimit"] == 1024
    assert config["authentication"]["anonymous"] == {"enabled": False}
    assert config["authorization"] == {"mode": "Webhook"}
    assert config["cgroupRoot"] == "/afresh-one"


def test_the_audit_log_holds_writes_and_what_the_operator_reads_without_contents() -> None:
    policy = json.loads(configuration.audit_policy())

    assert policy["rules"] == [
        {"level": "Metadata", "userGroups": ["system:serviceaccounts:afresh-system"]},
        {"level": "None", "verbs": ["get", "list", "watch"]},
        {"level": "Metadata"},
    ]


@pytest.mark.parametrize("component", _node_components(_ONE), ids=lambda part: part.name)
def test_no_command_line_holds_a_secret(component: Component) -> None:
    assert "PRIVATE KEY" not in " ".join(component.command)
    assert not any("token=" in word or "password" in word for word in component.command)


def test_the_api_server_asks_node_and_rbac_and_nobody_else() -> None:
    command = components.api_server(_ONE, _BINARIES, components.NODE_API).command

    assert "--authorization-mode=Node,RBAC" in command
    assert not any(word.startswith("--requestheader") for word in command)


def test_a_control_plane_alone_listens_on_loopback_only() -> None:
    address = components.loopback_api(1234)

    command = components.api_server(_ONE, _BINARIES, address).command

    assert "--bind-address=127.0.0.1" in command
    assert "--secure-port=1234" in command
    assert address.server == "https://127.0.0.1:1234"


def test_etcd_listens_on_sockets_only() -> None:
    command = components.etcd(_ONE, _BINARIES).command

    listening = [word.split("=", 1)[1] for word in command if word.startswith("--listen-")]

    assert len(listening) == 2
    assert all(url.startswith(f"unix://{_ONE.root}/") for url in listening)


def test_a_wrapper_passes_words_on_unchanged(tmp_path: Path) -> None:
    program = tmp_path / "a program"
    program.write_text('#!/bin/sh\nprintf "%s|" "$KUBECONFIG" "$@"\n')
    program.chmod(0o700)
    script = configuration.wrapper_script(_ONE, program)
    # Whoever runs the tests may not enter namespaces.
    script = script.replace("nsenter --net='/run/netns/afresh-one' --", "")

    answer = subprocess.run(
        ["sh", "-c", script, "kubectl", "get", "a b", "$HOME", "--"],
        capture_output=True,
        text=True,
        check=True,
    )

    assert answer.stdout == f"{_ONE.admin_kubeconfig}|get|a b|$HOME|--|"

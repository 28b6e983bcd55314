"""Starts a cluster: a whole node, or the control plane alone.

Owns the order of the start. If anything fails, the cluster is removed again.
"""

import contextlib
import secrets
import socket
import time
from pathlib import Path

from tools.singlenode import (
    binaries,
    cgroups,
    components,
    configuration,
    images,
    network,
    oci_archive,
    packages,
    pki,
    progress,
)
from tools.singlenode.api_server import ApiServer
from tools.singlenode.components import ApiAddress
from tools.singlenode.containerd_client import ContainerdClient
from tools.singlenode.errors import ClusterError
from tools.singlenode.paths import PRIVATE_PLACES, ClusterPaths, problem_with_homes
from tools.singlenode.prerequisites import check_root
from tools.singlenode.runtime_store import answers
from tools.singlenode.startup import Startup, all_alive
from tools.singlenode.teardown import take_down

NODE = "node"
CONTROL_PLANE = "control-plane"

# A component that ends early is reported at once; these limits are for a busy machine.
_NODE_SECONDS = 300
_CONTROL_PLANE_SECONDS = 240
_PORTS = range(20000, 32000)


def ensure_up(paths: ClusterPaths, kind: str) -> bool:
    """Start the cluster; return False if it was running already.

    A cluster with a component that has ended is removed and started again.
    """
    if problem := problem_with_homes():
        raise ClusterError(problem)
    if is_up(paths):
        if (found := kind_of(paths)) != kind:
            raise ClusterError(
                f"{paths.name} is running as a {found}: remove it first, or choose another name"
            )
        return False
    bring_up = _bring_up_node if kind == NODE else _bring_up_control_plane
    if kind == NODE:
        check_root()
    if paths.root.exists():
        progress.say(f"{paths.name} is incomplete: removing it first")
        take_down(paths)
    elif cgroups.has_processes(paths.namespace):
        # Namespaces and control groups belong to the machine, the state directory to the user.
        raise ClusterError(
            f"a cluster {paths.name} with another state directory runs on this machine: "
            "remove it with that directory, or choose another name"
        )
    try:
        bring_up(paths)
    # Also after an interrupt: an incomplete cluster is useless.
    except BaseException:
        progress.say(f"removing {paths.name} again")
        take_down(paths)
        raise
    return True


def is_up(paths: ClusterPaths) -> bool:
    """Return whether the cluster was started completely and all its components still run."""
    return paths.ready_file.exists() and all_alive(paths)


def kind_of(paths: ClusterPaths) -> str:
    """The kind with which the cluster was started; empty if it is unknown."""
    return paths.kind_file.read_text() if paths.kind_file.exists() else ""


def _bring_up_control_plane(paths: ClusterPaths) -> None:
    programs = binaries.require(binaries.CONTROL_PLANE)
    _lay_out(paths, CONTROL_PLANE)
    address = components.loopback_api(_free_port())
    startup = Startup(paths=paths, deadline=time.monotonic() + _CONTROL_PLANE_SECONDS)
    with progress.step("starting etcd and kube-apiserver"):
        _write_identities(paths, address, components.API_CLIENT_CERTIFICATES)
        startup.start(components.etcd(paths, programs))
        startup.start(components.api_server(paths, programs, address))
        startup.wait("API server", ApiServer(paths.pki, address.port).is_ready)
    paths.ready_file.touch()


def _bring_up_node(paths: ClusterPaths) -> None:
    programs = binaries.require(name for name in binaries.ALL if name != "helm")
    if absent := packages.missing():
        raise ClusterError(f"{absent[0]} is not installed: run `python3 tools/singlenode install`")
    containerd = packages.find_program("containerd")
    _lay_out(paths, NODE)
    network.create(paths.namespace)
    network.enter(paths.namespace)
    startup = Startup(
        paths=paths,
        deadline=time.monotonic() + _NODE_SECONDS,
        cgroup_procs=cgroups.create(paths.namespace),
    )
    clients = components.API_CLIENT_CERTIFICATES + components.NODE_CLIENT_CERTIFICATES
    with progress.step("starting etcd, containerd and kube-apiserver"):
        _write_identities(paths, components.NODE_API, clients)
        _write_node_configuration(paths)
        images.clone_store(paths)
        startup.start(components.etcd(paths, programs))
        runtime = startup.start(components.containerd(paths, containerd))
        startup.start(components.api_server(paths, programs, components.NODE_API))
        startup.wait("containerd", lambda: answers(paths.containerd_socket))
        _import_pause_image(paths, programs)
        api = ApiServer(paths.pki, components.NODE_PORT)
        startup.wait("API server", api.is_ready)
    with progress.step("starting the controllers and the node"):
        startup.start(components.controller_manager(paths, programs))
        startup.start(components.scheduler(paths, programs))
        startup.start(components.proxy(paths, programs, containerd_pid=runtime))
        startup.start(components.kubelet(paths, programs, containerd_pid=runtime))
        startup.wait("ready node", api.has_ready_node)
        startup.wait("default ServiceAccount", api.has_default_account)
    _write_wrappers(paths)
    paths.ready_file.touch()


def _lay_out(paths: ClusterPaths, kind: str) -> None:
    paths.root.parent.mkdir(parents=True, exist_ok=True)
    # This directory has the keys of the cluster's administrator.
    paths.root.mkdir(mode=0o700)
    paths.kind_file.write_text(kind)
    for directory in (paths.pki, paths.config, paths.logs, paths.records):
        directory.mkdir()


def _write_identities(
    paths: ClusterPaths, address: ApiAddress, clients: tuple[pki.Certificate, ...]
) -> None:
    pki.create_authority(paths.pki)
    for certificate in (*components.SERVER_CERTIFICATES, *clients):
        pki.create_certificate(paths.pki, certificate)
    for client in clients:
        kubeconfig = pki.render_kubeconfig(paths.pki, client.name, server=address.server)
        target = paths.pki / f"{client.name}.conf"
        target.touch(mode=0o600)
        target.write_text(kubeconfig)
    (paths.pki / "admin.conf").rename(paths.admin_kubeconfig)
    (paths.config / "audit-policy.json").write_text(configuration.audit_policy())
    (paths.root / "etcd").mkdir()


def _write_node_configuration(paths: ClusterPaths) -> None:
    _write_private_places(paths)
    (paths.config / "cni").mkdir()
    files = {
        "cni/10-pods.conflist": configuration.pod_network(paths),
        "containerd.toml": configuration.containerd_config(
            paths, cni_plugins=packages.cni_plugins()
        ),
        "kubelet.json": configuration.kubelet_config(paths),
    }
    for name, content in files.items():
        (paths.config / name).write_text(content)


def _write_private_places(paths: ClusterPaths) -> None:
    for place in PRIVATE_PLACES:
        Path(f"{paths.private}{place}").mkdir(parents=True)
    for tunable, value in configuration.KERNEL_TUNABLES.items():
        shown = Path(f"{paths.private}/proc/sys/{tunable}")
        shown.parent.mkdir(parents=True, exist_ok=True)
        shown.write_text(f"{value}\n")


def _import_pause_image(paths: ClusterPaths, programs: Path) -> None:
    archive = paths.config / "pause.tar"
    oci_archive.write(archive, program=programs / "pause", image=configuration.PAUSE_IMAGE)
    ContainerdClient(paths.containerd_socket).ensure_image(archive)


def _write_wrappers(paths: ClusterPaths) -> None:
    for name in ("kubectl", "helm"):
        wrapper = paths.root / name
        program = binaries.directory() / name
        wrapper.write_text(configuration.wrapper_script(paths, program))
        wrapper.chmod(0o700)


def _free_port() -> int:
    # The kernel uses the ports above these for outgoing connections: such a port could be taken
    # before the API server listens on it.
    while True:
        port = secrets.choice(_PORTS)
        with socket.socket() as listener, contextlib.suppress(OSError):
            listener.bind(("127.0.0.1", port))
            return port

"""The components of a cluster and their command lines.

Pure: no process is started here. Must not know in which order they start.
"""

from dataclasses import dataclass
from pathlib import Path

from tools.singlenode import network
from tools.singlenode.configuration import KERNEL_TUNABLES
from tools.singlenode.paths import PRIVATE_PLACES, ClusterPaths
from tools.singlenode.pki import Certificate

NODE_NAME = "node0"
NODE_PORT = 6443

_MASTERS = "system:masters"

API_CLIENT_CERTIFICATES = (Certificate(name="admin", common_name="admin", organization=_MASTERS),)
NODE_CLIENT_CERTIFICATES = (
    Certificate(name="controller-manager", common_name="system:kube-controller-manager"),
    Certificate(name="scheduler", common_name="system:kube-scheduler"),
    Certificate(
        name="kubelet", common_name=f"system:node:{NODE_NAME}", organization="system:nodes"
    ),
    Certificate(name="proxy", common_name="system:kube-proxy"),
)
SERVER_CERTIFICATES = (
    Certificate(
        name="apiserver",
        common_name="kube-apiserver",
        server_names=(
            "DNS:localhost",
            "DNS:kubernetes.default.svc",
            "IP:127.0.0.1",
            f"IP:{network.NODE_ADDRESS}",
            f"IP:{network.API_SERVICE_ADDRESS}",
        ),
    ),
    Certificate(
        name="kubelet-server",
        common_name=f"system:node:{NODE_NAME}",
        server_names=(f"IP:{network.NODE_ADDRESS}",),
    ),
    Certificate(name="kubelet-client", common_name="kube-apiserver", organization=_MASTERS),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """A long-running program of the cluster."""

    name: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiAddress:
    """Where the API server listens, and its flags about addresses and accounts."""

    bind: str
    port: int
    flags: tuple[str, ...]

    @property
    def server(self) -> str:
        """The URL for clients on the same machine."""
        return f"https://127.0.0.1:{self.port}"


NODE_API = ApiAddress(
    bind="0.0.0.0",  # noqa: S104 - all addresses of a network namespace without a route outside
    port=NODE_PORT,
    flags=(
        f"--advertise-address={network.NODE_ADDRESS}",
        "--enable-admission-plugins=NodeRestriction",
    ),
)


def loopback_api(port: int) -> ApiAddress:
    """The address of a lone API server: without controllers nothing creates service accounts."""
    return ApiAddress(
        bind="127.0.0.1",
        port=port,
        flags=(
            "--advertise-address=127.0.0.1",
            "--endpoint-reconciler-type=none",
            "--disable-admission-plugins=ServiceAccount",
        ),
    )


def etcd(paths: ClusterPaths, binaries: Path) -> Component:
    """The store, on sockets in the cluster's own directory, so that no other program reaches it."""
    home = paths.root / "etcd"
    return Component(
        name="etcd",
        command=(
            f"{binaries}/etcd",
            f"--data-dir={home}/data",
            # The data is removed with the cluster, so it need not be safe on disk.
            "--unsafe-no-fsync",
            f"--listen-client-urls={etcd_url(paths)}",
            f"--listen-peer-urls=unix://{home}/peer.sock",
            # Required, although there is only one member.
            "--advertise-client-urls=http://localhost:2379",
            "--log-level=warn",
        ),
    )


def etcd_url(paths: ClusterPaths) -> str:
    """The URL at which the API server reaches etcd."""
    return f"unix://{paths.root}/etcd/client.sock"


def api_server(paths: ClusterPaths, binaries: Path, address: ApiAddress) -> Component:
    """The API server, with an audit log of at most 2 GB."""
    pki = paths.pki
    return Component(
        name="kube-apiserver",
        command=(
            f"{binaries}/kube-apiserver",
            f"--etcd-servers={etcd_url(paths)}",
            f"--bind-address={address.bind}",
            f"--secure-port={address.port}",
            f"--service-cluster-ip-range={network.SERVICE_SUBNET}",
            "--authorization-mode=Node,RBAC",
            f"--client-ca-file={pki}/ca.crt",
            f"--tls-cert-file={pki}/apiserver.crt",
            f"--tls-private-key-file={pki}/apiserver.key",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={pki}/sa.pub",
            f"--service-account-signing-key-file={pki}/sa.key",
            f"--kubelet-certificate-authority={pki}/ca.crt",
            f"--kubelet-client-certificate={pki}/kubelet-client.crt",
            f"--kubelet-client-key={pki}/kubelet-client.key",
            # The name of the node could not be resolved: there is no DNS.
            "--kubelet-preferred-address-types=InternalIP",
            f"--audit-policy-file={paths.config}/audit-policy.json",
            f"--audit-log-path={paths.audit_log}",
            "--audit-log-maxsize=200",
            "--audit-log-maxbackup=9",
            *address.flags,
        ),
    )


def controller_manager(paths: ClusterPaths, binaries: Path) -> Component:
    """The controllers: Jobs, ServiceAccounts, garbage, node life cycle, ..."""
    return Component(
        name="kube-controller-manager",
        command=(
            f"{binaries}/kube-controller-manager",
            f"--kubeconfig={paths.pki}/controller-manager.conf",
            # With the default of 20 the controllers alone need 4 seconds to start.
            "--kube-api-qps=500",
            "--kube-api-burst=1000",
            f"--service-account-private-key-file={paths.pki}/sa.key",
            f"--root-ca-file={paths.pki}/ca.crt",
            "--use-service-account-credentials",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
        ),
    )


def scheduler(paths: ClusterPaths, binaries: Path) -> Component:
    """The scheduler."""
    return Component(
        name="kube-scheduler",
        command=(
            f"{binaries}/kube-scheduler",
            f"--kubeconfig={paths.pki}/scheduler.conf",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
        ),
    )


def containerd(paths: ClusterPaths, program: Path) -> Component:
    """containerd, in a mount namespace of its own.

    No other process sees what it and the kubelet mount, or what they write to paths that cannot be
    configured. All of it disappears with the last of their processes.
    """
    tunables = [f"/proc/sys/{tunable}" for tunable in KERNEL_TUNABLES]
    hide = [
        f"mount --bind '{paths.private}{place}' {place}" for place in (*PRIVATE_PLACES, *tunables)
    ]
    script = [
        "set -e",
        # A copy of another cluster's namespace mount would keep that namespace alive.
        "for f in /run/netns/*; do umount $f 2>/dev/null || :; done",
        *hide,
        "mount --make-rshared /",
        f"exec '{program}' --config '{paths.config}/containerd.toml'",
    ]
    return Component(
        name="containerd",
        command=(
            "unshare",
            "--mount",
            "--propagation=slave",
            "--",
            "/bin/sh",
            "-c",
            "\n".join(script),
        ),
    )


def kubelet(paths: ClusterPaths, binaries: Path, *, containerd_pid: int) -> Component:
    """The kubelet, in the mount namespace of containerd."""
    return Component(
        name="kubelet",
        command=(
            *_beside(containerd_pid),
            f"{binaries}/kubelet",
            f"--config={paths.config}/kubelet.json",
            f"--kubeconfig={paths.pki}/kubelet.conf",
            f"--hostname-override={NODE_NAME}",
            f"--node-ip={network.NODE_ADDRESS}",
            f"--root-dir={paths.root}/kubelet",
        ),
    )


def proxy(paths: ClusterPaths, binaries: Path, *, containerd_pid: int) -> Component:
    """kube-proxy: Service addresses. It shares the lock file of iptables with the CNI plugins."""
    return Component(
        name="kube-proxy",
        command=(
            *_beside(containerd_pid),
            f"{binaries}/kube-proxy",
            f"--kubeconfig={paths.pki}/proxy.conf",
            "--proxy-mode=iptables",
            f"--cluster-cidr={network.POD_SUBNET}",
            f"--hostname-override={NODE_NAME}",
            # These limits are the whole machine's, not the namespace's.
            "--conntrack-max-per-core=0",
            "--conntrack-tcp-timeout-established=0s",
            "--conntrack-tcp-timeout-close-wait=0s",
        ),
    )


def _beside(pid: int) -> tuple[str, ...]:
    return ("nsenter", f"--mount=/proc/{pid}/ns/mnt", "--")

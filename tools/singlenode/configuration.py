"""The configuration files of a node's components, as text.

Pure: builds text from names and places. Must not start or write anything.
"""

import json
from pathlib import Path

from tools.singlenode import network
from tools.singlenode.paths import ClusterPaths

PAUSE_IMAGE = "localhost/afresh/pause:dev"
# The namespace of the chart; the audit log also records what its accounts read.
OPERATOR_NAMESPACE = "afresh-system"

# Values that the kubelet would set for the whole machine, and never reset. It sees these instead.
KERNEL_TUNABLES = {
    "vm/overcommit_memory": 1,
    "vm/panic_on_oom": 0,
    "kernel/panic": 10,
    "kernel/panic_on_oops": 1,
    "kernel/keys/root_maxkeys": 1_000_000,
    "kernel/keys/root_maxbytes": 25_000_000,
}

# The process limit of a pod, independent of its containers.
POD_PIDS_LIMIT = 1024


def containerd_config(paths: ClusterPaths, *, cni_plugins: Path) -> str:
    """The configuration of the cluster's own containerd."""
    cri = 'plugins."io.containerd.grpc.v1.cri"'
    return f"""\
version = 2
root = "{paths.containerd_root}"
state = "{paths.containerd_socket.parent}/run"

[grpc]
  address = "{paths.containerd_socket}"

[plugins."io.containerd.internal.v1.opt"]
  path = "{paths.containerd_socket.parent}/opt"

[{cri}]
  sandbox_image = "{PAUSE_IMAGE}"
  # Without CAP_SYS_RESOURCE a score cannot be lowered, and every sandbox would fail.
  restrict_oom_score_adj = true

[{cri}.cni]
  bin_dir = "{cni_plugins}"
  conf_dir = "{paths.config}/cni"

[{cri}.containerd]
  snapshotter = "overlayfs"

[{cri}.containerd.runtimes.runc]
  runtime_type = "io.containerd.runc.v2"
"""


def pod_network(paths: ClusterPaths) -> str:
    """The CNI configuration: a bridge, addresses from the cluster directory, no outside route."""
    addresses = {
        "type": "host-local",
        "dataDir": str(paths.root / "addresses"),
        "ranges": [[{"subnet": network.POD_SUBNET}]],
        "routes": [{"dst": "0.0.0.0/0"}],
    }
    bridge = {
        "type": "bridge",
        "bridge": "cni0",
        "isGateway": True,
        "ipMasq": False,
        "hairpinMode": True,
        "ipam": addresses,
    }
    ports = {"type": "portmap", "capabilities": {"portMappings": True}}
    return _as_json({"cniVersion": "1.0.0", "name": "pods", "plugins": [bridge, ports]})


def kubelet_config(paths: ClusterPaths) -> str:
    """The kubelet's configuration."""
    return _as_json(
        {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "authentication": {
                "x509": {"clientCAFile": f"{paths.pki}/ca.crt"},
                "webhook": {"enabled": True},
                "anonymous": {"enabled": False},
            },
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": f"{paths.pki}/kubelet-server.crt",
            "tlsPrivateKeyFile": f"{paths.pki}/kubelet-server.key",
            "containerRuntimeEndpoint": f"unix://{paths.containerd_socket}",
            # With a shared root, two kubelets would take each other's pods for orphans.
            "cgroupRoot": f"/{paths.namespace}",
            "cgroupDriver": "cgroupfs",
            "failCgroupV1": False,
            "failSwapOn": False,
            "clusterDNS": [network.DNS_SERVICE_ADDRESS],
            "clusterDomain": "cluster.local",
            "resolvConf": "/dev/null",
            "podPidsLimit": POD_PIDS_LIMIT,
            # The developer's disk may be nearly full, and images are never pulled again.
            "evictionHard": {
                "nodefs.available": "1%",
                "imagefs.available": "1%",
                "memory.available": "100Mi",
            },
            "imageGCHighThresholdPercent": 100,
        }
    )


def audit_policy() -> str:
    """The audit policy: record who wrote which object and when, but not the contents.

    Contents may be secrets. For the operator, reads are recorded too.
    """
    return _as_json(
        {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": [
                {
                    "level": "Metadata",
                    "userGroups": [f"system:serviceaccounts:{OPERATOR_NAMESPACE}"],
                },
                {"level": "None", "verbs": ["get", "list", "watch"]},
                {"level": "Metadata"},
            ],
        }
    )


def wrapper_script(paths: ClusterPaths, program: Path) -> str:
    """A script that runs `program` against this cluster from anywhere on this machine."""
    enter = f"nsenter --net='{network.path(paths.namespace)}' -- "
    return f"""\
#!/bin/sh
{_exports(paths)}
exec {enter}'{program}' "$@"
"""


def client_environment(paths: ClusterPaths) -> dict[str, str]:
    """The variables that point Kubernetes clients at this cluster."""
    # Every cluster has the same address, so the clients' caches must not be shared.
    return {
        "KUBECONFIG": str(paths.admin_kubeconfig),
        "KUBECACHEDIR": str(paths.root / "client-cache"),
    }


def _exports(paths: ClusterPaths) -> str:
    variables = client_environment(paths).items()
    return "\n".join(f"export {name}='{value}'" for name, value in variables)


def _as_json(value: object) -> str:
    return json.dumps(value, indent=2) + "\n"

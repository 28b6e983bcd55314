"""Servers of a team's own, which a story may stop, start and read the log of."""

import base64
from dataclasses import dataclass
from string import Template

import yaml

from tests.e2e.api import Manifest
from tests.e2e.cluster import ROOT, Cluster, wait

MANIFEST = ROOT / "tools" / "demo" / "manifests" / "servers.yaml"
IMAGES = {"IMAGES": "localhost/afresh", "TAG": "dev"}


@dataclass(frozen=True)
class Server:
    """One of the demo's servers in a team's namespace; it reads its secrets there."""

    cluster: Cluster
    namespace: str
    name: str

    def install(self, *arguments: str) -> None:
        """Apply the demo's manifest of the server, with further arguments, and wait for it."""
        text = Template(MANIFEST.read_text(encoding="utf-8")).substitute(IMAGES)
        for manifest in yaml.safe_load_all(text):
            if manifest["metadata"]["name"] != self.name:
                continue
            manifest["metadata"]["namespace"] = self.namespace
            if manifest["kind"] == "Deployment":
                container = manifest["spec"]["template"]["spec"]["containers"][0]
                container["command"] += arguments
            self.cluster.api.apply(manifest)
        self._wait_until_ready()

    @property
    def url(self) -> str:
        """Its address; a cluster without DNS knows it too."""
        return service_url(self.cluster, self.namespace, self.name)

    def stop(self) -> None:
        """End its process and wait until it is gone."""
        self._scale(0)
        wait(f"{self.name} is gone", lambda: not self._pods(), seconds=180)

    def start(self) -> None:
        """Start it again."""
        self._scale(1)
        self._wait_until_ready()

    def run(self, *command: str) -> str:
        """Run a command in its container."""
        return self.cluster.kubectl(
            "exec", "-n", self.namespace, f"deployment/{self.name}", "--", *command
        )

    def log(self) -> list[str]:
        """Return its log since its start."""
        (pod,) = self._pods()
        path = f"api/v1/namespaces/{self.namespace}/pods/{pod['metadata']['name']}/log"
        return self.cluster.api.text(f"{path}?timestamps=true").splitlines()

    def _scale(self, replicas: int) -> None:
        spec = {"spec": {"replicas": replicas}}
        self.cluster.api.merge("deployments", self.name, self.namespace, spec)

    def _pods(self) -> list[Manifest]:
        return self.cluster.api.items("pods", self.namespace, f"app={self.name}")

    def _wait_until_ready(self) -> None:
        def is_ready() -> bool:
            found = self.cluster.api.get("deployments", self.name, self.namespace)
            return bool(found["status"].get("readyReplicas"))

        wait(f"{self.name} is ready", is_ready, seconds=180)
        # kube-proxy learns of a pod that is ready up to some seconds later.
        wait(f"{self.name} answers at its address", self._answers, seconds=180)

    def _answers(self) -> bool:
        address = self.url.removeprefix("http://")
        connect = "import socket, sys; socket.create_connection((sys.argv[1], 80), 5)"
        return self.cluster.run("python3", "-c", connect, address).returncode == 0


@dataclass(frozen=True)
class Bell:
    """An address that nobody answers until the bell rings: agents wait for it."""

    cluster: Cluster
    namespace: str
    name: str

    def install(self) -> None:
        """Make the address."""
        self.cluster.api.apply(
            {
                "apiVersion": "v1",
                "kind": "Service",
                "metadata": {"name": self.name, "namespace": self.namespace},
                "spec": {"ports": [{"port": 80, "targetPort": 80}]},
            }
        )

    def prompt(self, then: str = "stamp") -> str:
        """Return a task of waiting for the bell and doing something after it."""
        spec = self.cluster.api.get("services", self.name, self.namespace)["spec"]
        return f"Wait for the bell.\ndo: await {spec['clusterIP']}; {then}"

    def ring(self) -> None:
        """Let every agent that waits go on, and those that come later not wait at all."""
        slices = self.cluster.api.items("endpointslices", "default")
        server = next(item for item in slices if item["metadata"]["name"] == "kubernetes")
        self.cluster.api.apply(
            {
                "apiVersion": "discovery.k8s.io/v1",
                "kind": "EndpointSlice",
                "metadata": {
                    "name": self.name,
                    "namespace": self.namespace,
                    "labels": {"kubernetes.io/service-name": self.name},
                },
                "addressType": "IPv4",
                # Somebody who listens: what is said there does not matter.
                "ports": [{"name": "", "protocol": "TCP", "port": server["ports"][0]["port"]}],
                "endpoints": [{"addresses": server["endpoints"][0]["addresses"]}],
            }
        )


def service_url(cluster: Cluster, namespace: str, name: str) -> str:
    """Return the URL of a Service by its address."""
    address = cluster.api.get("services", name, namespace)["spec"]["clusterIP"]
    return f"http://{address}"


def secret_value(cluster: Cluster, namespace: str, name: str, key: str) -> str:
    """Return one value of a Secret."""
    data = cluster.api.get("secrets", name, namespace)["data"]
    return base64.b64decode(data[key]).decode()

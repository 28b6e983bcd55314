"""A namespace of a team: its secrets, its servers, its packages."""

import json
import sys
from dataclasses import dataclass
from typing import Any

from tests.e2e.cluster import ROOT, Cluster, Manifest

sys.path.insert(0, str(ROOT / "deploy" / "demo"))

GIT_URL_PATH = "/ledger.git"
WRITE_A_FILE = ["/bin/sh", "-c", "cat >/dev/null; date +%s.%N >> stamps.txt"]


def agent_class(name: str, command: list[str] | None = None, **spec: Any) -> Manifest:
    """Return a class whose agent is a command."""
    return {
        "apiVersion": "afresh.dev/v1alpha1",
        "kind": "AgentClass",
        "metadata": {"name": name},
        "spec": {
            **({} if "adapter" in spec else {"adapter": "Command"}),
            **({} if "adapter" in spec else {"command": command or WRITE_A_FILE}),
            "image": "localhost/afresh/agent-command:dev",
            "resources": {"requests": {"cpu": "20m", "memory": "32Mi"}},
            **spec,
        },
    }


@dataclass(frozen=True)
class Team:
    """One namespace of one cluster, with the address of a git server."""

    cluster: Cluster
    namespace: str
    git: str

    def package(self, name: str, agent_class_name: str, **spec: Any) -> Manifest:
        """Return a package with one subtask, or with what `spec` says."""
        return {
            "apiVersion": "afresh.dev/v1alpha1",
            "kind": "WorkPackage",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {
                "agentClassName": agent_class_name,
                "repository": {
                    "url": self.git + GIT_URL_PATH,
                    "secretName": "git-credentials",
                    **spec.pop("repository", {}),
                },
                "verify": {"command": ["true"]},
                "subtasks": [{"id": "T001", "prompt": "Add a stamp."}],
                **spec,
            },
        }

    def apply(self, *manifests: Manifest) -> None:
        """Apply manifests."""
        for manifest in manifests:
            self.cluster.kubectl("apply", manifest=manifest)

    def secret(self, name: str, **data: str) -> None:
        """Write a Secret."""
        self.apply(
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": name, "namespace": self.namespace},
                "stringData": data,
            }
        )

    def status(self, package: str) -> dict[str, Any]:
        """Return a package's status."""
        status: dict[str, Any] = self.cluster.get("wp", package, self.namespace).get("status", {})
        return status

    def wait_for(self, package: str, *phases: str, seconds: float = 60) -> dict[str, Any]:
        """Return the status as soon as the package is in one of the phases."""
        last: dict[str, Any] = {}

        def reached() -> bool:
            last.update(self.status(package))
            return last.get("phase") in phases

        try:
            self.cluster.wait(f"{package} is {phases}", reached, seconds=seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; its status: {json.dumps(last)[:3000]}") from None
        return last

    def branch_log(self, branch: str, form: str = "%H") -> list[str]:
        """Return one line for each commit that the branch has over main, newest first."""
        done = self.cluster.run(
            "kubectl", "exec", "-n", "afresh-demo", "deployment/git", "--",
            "git", "-c", "safe.directory=*", "-C", "/data/ledger.git",
            "log", f"--format={form}", f"main..{branch}",
        )  # fmt: skip
        return done.stdout.splitlines() if done.returncode == 0 else []


def message_of(status: dict[str, Any]) -> str:
    """Return the sentence of the condition Ready."""
    ready = next(item for item in status["conditions"] if item["type"] == "Ready")
    message: str = ready["message"]
    return message

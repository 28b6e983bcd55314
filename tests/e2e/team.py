"""A namespace of a team: its secrets, its agents, its packages, and what it sees of them."""

import json
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import Any

from tests.e2e.api import ApiError, Manifest
from tests.e2e.branch import Branch
from tests.e2e.cluster import ROOT, Cluster, wait
from tests.e2e.servers import Bell, Server

GIT_URL_PATH = "/ledger.git"
SECONDS = 300
ENDED = ("Succeeded", "NeedsReview", "Failed")
# An agent without a model: it does what the lines of its task say that begin with "do:".
OBEDIENT = """\
brief=$(cat)
stamp() { date +%s.%N >>"${1:-stamps.txt}"; }
await() { python3 -c 'import socket, sys, time
while socket.socket().connect_ex((sys.argv[1], 80)):
    time.sleep(0.2)' "$1"; }
eval "$(printf '%s\\n' "$brief" | sed -n 's/^do: //p')"
"""
# The demo's git and model server.
SERVERS = {"namespaceSelector": {"matchLabels": {"app.kubernetes.io/part-of": "afresh-demo"}}}
STAMP = "Add a stamp.\ndo: stamp"


@dataclass(frozen=True)
class Team:
    """One namespace of one cluster; it knows a git server, a model server and their secrets."""

    cluster: Cluster
    namespace: str
    git: str
    git_password: str
    model: str
    model_key: str

    def move_in(self) -> None:
        """Make the namespace, restricted, with git credentials that work and an agent."""
        restricted = {"pod-security.kubernetes.io/enforce": "restricted"}
        metadata = {"name": self.namespace, "labels": restricted}
        self.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
        wait("there is a service account", self._has_account, seconds=180)
        self.secret("git-credentials", username="afresh", password=self.git_password)
        self.agent()

    def _has_account(self) -> bool:
        try:
            path = f"api/v1/namespaces/{self.namespace}/serviceaccounts/default"
            return bool(self.cluster.api.call("GET", path))
        except ApiError:
            return False

    def apply(self, *manifests: Manifest) -> None:
        """Apply manifests."""
        for manifest in manifests:
            self.cluster.api.apply(manifest)

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

    def agent(self, **spec: Any) -> None:
        """Write the class that the team's packages use by default: the obedient agent."""
        command = {"adapter": "Command", "command": ["/bin/sh", "-c", OBEDIENT]}
        metadata = {"name": self.namespace}
        self.apply(
            {
                "apiVersion": "afresh.dev/v1alpha1",
                "kind": "AgentClass",
                "metadata": metadata,
                "spec": {
                    **({} if "adapter" in spec else command),
                    "image": "localhost/afresh/agent-command:dev",
                    "egress": [{"to": [SERVERS, {"podSelector": {}}]}],
                    "resources": {
                        "requests": {"cpu": "20m", "memory": "32Mi"},
                        "limits": {"cpu": "1"},
                    },
                    **spec,
                },
            }
        )

    def claude(self, **spec: Any) -> None:
        """Write the class that the team's packages use: the real Claude Code, scripted model."""
        self.agent(
            adapter="Claude",
            **{
                "image": "localhost/afresh/agent-claude:dev",
                "endpoint": self.model,
                "credentials": {"secretName": "model-key"},
                **spec,
            },
        )

    def package(self, name: str, *tasks: str | dict[str, Any], **spec: Any) -> Manifest:
        """Return a package of these tasks: prompts, or entries; without any, of one stamp."""
        entries = [
            {"id": f"T{number:03}", **({"prompt": task} if isinstance(task, str) else task)}
            for number, task in enumerate(tasks or (STAMP,), start=1)
        ]
        return {
            "apiVersion": "afresh.dev/v1alpha1",
            "kind": "WorkPackage",
            "metadata": {"name": name, "namespace": self.namespace},
            "spec": {
                "agentClassName": self.namespace,
                "repository": {
                    "url": self.git + GIT_URL_PATH,
                    "branch": self._branch_name(name),
                    "secretName": "git-credentials",
                    **spec.pop("repository", {}),
                },
                "verify": {"command": ["true"]},
                "subtasks": entries,
                **spec,
            },
        }

    def edit(self, package: str, **spec: Any) -> None:
        """Change fields of a package's spec."""
        self.cluster.api.merge("workpackages", package, self.namespace, {"spec": spec})

    def afresh(self, *words: str) -> str:
        """Run the command `afresh` as a person of the team does; return what it prints."""
        done = self.try_afresh(*words)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def try_afresh(self, command: str, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the command `afresh`, whatever its end."""
        return self.cluster.run(
            "env", f"PYTHONPATH={ROOT / 'controller'}",
            sys.executable, "-m", "afresh.cli", command, "-n", self.namespace, *words,
        )  # fmt: skip

    def status(self, package: str = "p") -> dict[str, Any]:
        """Return a package's status."""
        found = self.cluster.api.get("workpackages", package, self.namespace)
        status: dict[str, Any] = found.get("status", {})
        return status

    def wait_for(
        self, *phases: str, package: str = "p", reason: str = "", seconds: float = SECONDS
    ) -> dict[str, Any]:
        """Return the status once the package is in one of the phases, and for that reason."""
        seen: list[dict[str, Any]] = [{}]

        def reached() -> dict[str, Any] | None:
            seen[0] = self.status(package)
            has_reason = reason in ("", seen[0].get("reason"))
            return seen[0] if has_reason and seen[0].get("phase") in phases else None

        try:
            status: dict[str, Any] = wait(f"{package} is {phases}", reached, seconds=seconds)
        except AssertionError as error:
            raise AssertionError(f"{error}; its status: {json.dumps(seen[0])[:3000]}") from None
        return status

    def wait_for_progress(self, done: int, package: str = "p") -> None:
        """Return once as many subtasks of the package are done."""

        def is_there() -> bool:
            progress: str = self.status(package).get("progress", "0/0")
            return int(progress.split("/", maxsplit=1)[0]) >= done

        wait(f"{done} subtasks of {package} are done", is_there, seconds=SECONDS)

    def wait_until(self, subtask: str, package: str = "p", **fields: Any) -> dict[str, Any]:
        """Return the subtask's record once its fields are so."""

        def is_so() -> dict[str, Any] | None:
            record = record_of(self.status(package), subtask)
            return record if fields.items() <= record.items() else None

        record: dict[str, Any] = wait(f"{subtask} has {fields}", is_so, seconds=SECONDS)
        return record

    def wait_for_end(self, package: str = "p") -> dict[str, Any]:
        """Return the status once it is about the last edit and the package has ended."""

        def has_ended() -> dict[str, Any] | None:
            found = self.cluster.api.get("workpackages", package, self.namespace)
            status: dict[str, Any] = found.get("status", {})
            is_current = status.get("observedGeneration") == found["metadata"]["generation"]
            return status if is_current and status.get("phase") in ENDED else None

        status: dict[str, Any] = wait(f"{package} ends", has_ended, seconds=SECONDS)
        return status

    def record(self, subtask: str, package: str = "p") -> dict[str, Any]:
        """Return what the package's status says of a subtask."""
        return record_of(self.status(package), subtask)

    def attempts(self, subtask: str, package: str = "p") -> list[dict[str, Any]]:
        """Return the history of a subtask's episodes."""
        name = f"{package}-{subtask.lower()}"
        child = self.cluster.api.get("subtasks", name, self.namespace)
        attempts: list[dict[str, Any]] = child.get("status", {}).get("attempts", [])
        return attempts

    def history(self, package: str = "p") -> str:
        """Return the ends of all episodes of a package, for the message of a test that fails."""
        ids = [item["id"] for item in self.status(package)["subtasks"]]
        return "\n".join(f"{id_}: {json.dumps(self.attempts(id_, package))}" for id_ in ids)

    def bell(self, name: str = "bell") -> Bell:
        """Make something that agents can wait for."""
        bell = Bell(self.cluster, self.namespace, name)
        bell.install()
        return bell

    def server(self, name: str, *arguments: str) -> Server:
        """Start one of the demo's servers, `git` or `model`, in this namespace."""
        server = Server(self.cluster, self.namespace, name)
        server.install(*arguments)
        return server

    def pods(self, package: str = "p") -> list[Manifest]:
        """Return the pods of a package."""
        labels = f"afresh.dev/package={package}"
        return self.cluster.api.items("pods", self.namespace, labels)

    def running_pod(self, subtask: str = "T001", package: str = "p") -> Manifest:
        """Return the subtask's pod once its agent's container runs."""

        def found() -> Manifest | None:
            return next((pod for pod in self.pods(package) if _is_at_work(pod, subtask)), None)

        pod: Manifest = wait(f"the agent of {subtask} runs", found, seconds=SECONDS)
        return pod

    def events(self) -> list[tuple[str, str, str]]:
        """Return the type, the reason and the name of the object of every Event here.

        An episode's regard the package and are related to the Subtask, which is named.
        """
        return [
            (
                event["type"],
                event["reason"],
                (event.get("related") or event["involvedObject"])["name"],
            )
            for event in self.cluster.api.items("events", self.namespace)
        ]

    def branch(self, package: str = "p") -> Branch:
        """Return the branch of a package."""
        return Branch(self.cluster, self._branch_name(package))

    def _branch_name(self, package: str) -> str:
        return f"afresh/{self.namespace}/{package}"

    def stop(self) -> None:
        """Delete the packages, so that a story that failed takes nothing from the others."""
        path = f"apis/afresh.dev/v1alpha1/namespaces/{self.namespace}/workpackages"
        self.cluster.api.call("DELETE", path)

    def evidence(self) -> str:
        """Return what a person would look at if something were not as it should be."""
        api = self.cluster.api
        parts = [f"seen at {time.strftime('%X')} in {self.namespace}:"]
        packages = api.items("workpackages", self.namespace)
        parts += [json.dumps(item.get("status", {}))[:4000] for item in packages]
        parts += [json.dumps(pod["status"])[:1500] for pod in api.items("pods", self.namespace)]
        parts += [" ".join(event) for event in self.events()][-30:]
        return "\n".join(parts)


def record_of(status: dict[str, Any], subtask: str) -> dict[str, Any]:
    """Return what a package's status says of a subtask."""
    found = next(item for item in status["subtasks"] if item["id"] == subtask)
    record: dict[str, Any] = found
    return record


def message_of(status: dict[str, Any]) -> str:
    """Return the sentence of the condition Ready."""
    ready = next(item for item in status["conditions"] if item["type"] == "Ready")
    message: str = ready["message"]
    return message


def _is_at_work(pod: Manifest, subtask: str) -> bool:
    statuses = pod["status"].get("containerStatuses", [])
    agent = next((item for item in statuses if item["name"] == "agent"), None)
    return (
        pod["metadata"]["labels"]["afresh.dev/subtask"] == subtask
        and "deletionTimestamp" not in pod["metadata"]
        and agent is not None
        and "running" in agent["state"]
    )


def plan_of(status: dict[str, Any]) -> dict[str, str]:
    """Return the marker of each subtask, as a plan that equals the status has it."""
    return {item["id"]: item["marker"] for item in status["subtasks"]}

"""kubectl as the tests call it: plain arguments, a manifest on standard input, bounded time."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

Manifest = dict[str, Any]

_TIMEOUT_SECONDS = 120


class Kubectl:
    """Calls kubectl on one cluster.

    Calling it returns the standard output and fails the test if kubectl fails; `run` returns the
    completed process either way, `start` the running one.
    """

    def __init__(self, *, program: Path, kubeconfig: Path, cache: Path) -> None:
        self.program = program
        """The program itself."""
        self._command = [str(program), f"--cache-dir={cache}"]
        self._environment = os.environ | {"KUBECONFIG": str(kubeconfig)}

    def __call__(self, *arguments: str, manifest: Manifest | None = None) -> str:
        done = self.run(*arguments, manifest=manifest)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def run(
        self, *arguments: str, manifest: Manifest | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run kubectl; a manifest is given to it as `-f -`."""
        source = [] if manifest is None else ["-f", "-"]
        return subprocess.run(
            [*self._command, *arguments, *source],
            env=self._environment,
            input=None if manifest is None else json.dumps(manifest),
            text=True,
            capture_output=True,
            timeout=_TIMEOUT_SECONDS,
            check=False,
        )

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start kubectl and return while it runs; the caller waits for its end."""
        return subprocess.Popen(
            [*self._command, *arguments],
            env=self._environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    def apply(self, manifest: Manifest, namespace: str) -> str:
        """Apply as a user does."""
        return self("apply", "-n", namespace, manifest=manifest)

    def end_namespace(self, name: str) -> None:
        """Delete an empty namespace: a bare API server has no controller that ends one."""
        self("delete", "namespace", name, "--wait=false")
        found = json.loads(self("get", "namespace", name, "-o", "json"))
        found["spec"]["finalizers"] = []
        self("replace", "--raw", f"/api/v1/namespaces/{name}/finalize", manifest=found)

    def get(self, kind: str, name: str, namespace: str) -> Manifest:
        """Return one object."""
        found: Manifest = json.loads(self("get", kind, name, "-n", namespace, "-o", "json"))
        return found

    def patch_status(self, kind: str, name: str, namespace: str, status: Manifest) -> None:
        """Merge `status` into the object's, as the operator does."""
        patch = json.dumps({"status": status})
        target = [kind, name, "-n", namespace, "--subresource=status"]
        self("patch", *target, "--type=merge", "-p", patch)

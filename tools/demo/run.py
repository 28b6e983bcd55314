"""The demo: a real cluster, a real package, a real coding agent. `make demo` runs this.

Owns the steps and the result: the exit status is 0 only if the package succeeded and every commit
in its status is on the branch.
"""

import argparse
import json
import os
import secrets
import sys
import time
from string import Template
from typing import Any

from tools.demo.installation import INSTALLERS, refuse_anothers, remove_operator
from tools.demo.target import (
    IMAGES,
    REPOSITORY,
    DemoCluster,
    DemoError,
    current,
    own,
    progress,
    using_current,
)

NAME = "demo"
NAMESPACE = "afresh-demo"
PACKAGE = "token-auth"
MANIFESTS = REPOSITORY / "tools" / "demo" / "manifests"
REAL_ENDPOINT = "https://api.anthropic.com"
REPOSITORY_DIR = "/data/ledger.git"
ENDED = ("Succeeded", "NeedsReview", "Failed")
PATIENCE_SECONDS = 1800


def main() -> int:
    """Run the demo; return the exit status."""
    options = _options()
    try:
        if options.remove:
            return _remove(using_current())
        target = current() if options.cluster == "current" else own(NAME, IMAGES)
        api_key = _api_key(options.model)
        refuse_anothers(target)
        INSTALLERS[options.install](target)
        start_servers(target, api_key)
        _apply_package(target, options.model)
        package = _follow(target)
        _show(target)
        return _judge(target, package)
    except DemoError as error:
        print(f"demo: {error}", file=sys.stderr)
        return 1


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description="Run a work package with a real coding agent on a real cluster.",
        epilog="example: python3 tools/demo --cluster current --model real",
    )
    parser.add_argument(
        "--cluster", choices=["own", "current"], default="own",
        help="own (default): create a cluster for the demo; current: use the kubeconfig's cluster",
    )  # fmt: skip
    parser.add_argument(
        "--model", choices=["scripted", "real"], default="scripted",
        help="scripted (default): a server with scripted answers; real: Anthropic's API, with the "
        "key in ANTHROPIC_API_KEY; needs --cluster current",
    )  # fmt: skip
    parser.add_argument(
        "--install", choices=sorted(INSTALLERS), default="helm",
        help="helm (default): from the charts; kustomize: from deploy/manifests, with kubectl",
    )  # fmt: skip
    parser.add_argument(
        "--remove", action="store_true",
        help="with --cluster current: remove what the demo created there",
    )  # fmt: skip
    options = parser.parse_args()
    if options.remove and options.cluster != "current":
        parser.error("--remove needs --cluster current: make demo-down removes the own cluster")
    if options.model == "real" and options.cluster != "current":
        parser.error("--model real needs --cluster current: the own cluster has no route outside")
    return options


def _api_key(model: str) -> str:
    if model == "scripted":
        return secrets.token_urlsafe(24)
    key = os.environ.get("ANTHROPIC_API_KEY", "")
    if not key:
        raise DemoError("MODEL=real needs the key: set ANTHROPIC_API_KEY.")
    return key


def start_servers(target: DemoCluster, api_key: str) -> None:
    """Recreate the demo's namespace with its two servers and their Secrets."""
    with progress.step("starting a git server and a model server"):
        _delete_namespace(target)
        _apply(target, "servers.yaml", IMAGES=target.images, TAG=target.tag)
        # Passed on standard input: every user could read a secret on a command line.
        for manifest in (
            _secret("git-credentials", username="afresh", password=secrets.token_urlsafe(24)),
            _secret("model-key", **{"api-key": api_key}),
        ):
            target.kubectl("apply", "-f", "-", text=json.dumps(manifest))
        for server in ("git", "model"):
            target.kubectl(
                "rollout", "status", f"deployment/{server}", "-n", NAMESPACE, "--timeout=120s"
            )


def _remove(target: DemoCluster) -> int:
    """Remove the demo from a user's cluster, except the CRDs, which may be in use."""
    refuse_anothers(target)
    with progress.step("removing the demo, its secrets and the operator"):
        _delete_namespace(target)
        target.kubectl("delete", "agentclass", "demo-claude", "--ignore-not-found")
        remove_operator(target)
    print("The CRDs stay. If there are no other packages, remove them: kubectl delete -f crds/")
    return 0


def _delete_namespace(target: DemoCluster) -> None:
    """Delete the demo's namespace. Raises DemoError if it is not the demo's."""
    found = target.kubectl("get", "namespace", NAMESPACE, "--ignore-not-found", "-o", "json")
    if not found.strip():
        return
    labels = json.loads(found)["metadata"].get("labels", {})
    if labels.get("app.kubernetes.io/part-of") != NAMESPACE:
        raise DemoError(f"The demo did not create the namespace {NAMESPACE}: remove it first.")
    target.kubectl("delete", "namespace", NAMESPACE, "--timeout=120s")


def _apply_package(target: DemoCluster, model: str) -> None:
    model_url = REAL_ENDPOINT if model == "real" else address(target, "model")
    values = {"IMAGES": target.images, "TAG": target.tag, "MODEL_URL": model_url}
    with progress.step("applying the AgentClass and the WorkPackage"):
        _apply(target, "agent-class.yaml", **values)
        _apply(target, "work-package.yaml", GIT_URL=address(target, "git"))


def _follow(target: DemoCluster) -> dict[str, Any]:
    """Print the package's row at each change until it ends; return the package."""
    progress.say(f"following the package: kubectl get wp {PACKAGE} -n {NAMESPACE} --watch")
    watch = target.start("kubectl", "get", "wp", PACKAGE, "-n", NAMESPACE, "--watch")
    deadline = time.monotonic() + PATIENCE_SECONDS
    try:
        while time.monotonic() < deadline:
            package: dict[str, Any] = json.loads(
                target.kubectl("get", "wp", PACKAGE, "-n", NAMESPACE, "-o", "json")
            )
            if package.get("status", {}).get("phase") in ENDED:
                time.sleep(0.5)  # let the watch print the last row
                return package
            if watch.poll() is not None:
                watch = target.start("kubectl", "get", "wp", PACKAGE, "-n", NAMESPACE, "-w")
            time.sleep(0.5)
    finally:
        watch.terminate()
        watch.wait()
    raise DemoError(f"the package did not end within {PATIENCE_SECONDS} s: {target.kubectl_line}")


def _show(target: DemoCluster) -> None:
    print()
    print(target.kubectl("get", "wp,st", "-n", NAMESPACE))
    print(_git(target, "log", "--format=%h %an  %s", f"afresh/{PACKAGE}"))
    print(_git(target, "show", f"afresh/{PACKAGE}:.afresh/PLAN.md"))
    print(
        f"Everything stays until you run {target.removal}. To look at it:\n  {target.kubectl_line}"
    )


def _judge(target: DemoCluster, package: dict[str, Any]) -> int:
    """Check the branch and not only the status: it must have each finished subtask's commit."""
    status = package["status"]
    commits = set(_git(target, "log", "--format=%H", f"main..afresh/{PACKAGE}").split())
    missing = [item["id"] for item in status["subtasks"] if item.get("commit") not in commits]
    if status["phase"] != "Succeeded" or missing or len(commits) < len(status["subtasks"]):
        ready = next(item for item in status["conditions"] if item["type"] == "Ready")
        print(f"demo: the package is {status['phase']}: {ready['message']}", file=sys.stderr)
        if missing:
            print(f"demo: no commit on the branch for {', '.join(missing)}", file=sys.stderr)
        return 1
    progress.say(f"{PACKAGE} succeeded: {len(commits)} commits on afresh/{PACKAGE}")
    return 0


def _git(target: DemoCluster, *arguments: str) -> str:
    """Run git on the repository in the git server's pod."""
    return target.kubectl(
        "exec", "-n", NAMESPACE, "deployment/git", "--",
        "git", "-c", "safe.directory=*", "-C", REPOSITORY_DIR, *arguments,
    )  # fmt: skip


def _apply(target: DemoCluster, manifest: str, **values: str) -> None:
    text = Template((MANIFESTS / manifest).read_text()).substitute(values)
    target.kubectl("apply", "-f", "-", text=text)


def address(target: DemoCluster, service: str) -> str:
    """Return a Service's URL by its IP address, which works in a cluster without DNS too."""
    address = target.kubectl(
        "get", "service", service, "-n", NAMESPACE, "-o", "jsonpath={.spec.clusterIP}"
    )
    return f"http://{address.strip()}"


def _secret(name: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "stringData": data,
    }

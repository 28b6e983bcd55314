"""The demo on a cluster that the kubeconfig names: a real agent finishes a real package."""

import pytest

from tests.e2e.cluster import ROOT, Cluster
from tests.e2e.conftest import DEMO, DemoRun
from tests.e2e.servers import secret_value

pytestmark = pytest.mark.cluster


def test_the_demo_ends_with_a_package_that_succeeded(demo: DemoRun) -> None:
    assert demo.code == 0, demo.output
    assert "token-auth succeeded: 6 commits on afresh/token-auth" in demo.output


def test_the_plan_on_the_branch_shows_every_subtask_done(demo: DemoRun) -> None:
    plan = [line for line in demo.output.splitlines() if line.startswith("- [")]

    assert [line[:5] for line in plan] == ["- [x]"] * 5


def test_every_commit_is_neutral_and_carries_its_trailers(cluster: Cluster, demo: DemoRun) -> None:
    log = cluster.kubectl(
        "exec", "-n", DEMO, "deployment/git", "--",
        "git", "-c", "safe.directory=*", "-C", "/data/ledger.git",
        "log", "--format=%s|%(trailers:key=Afresh-Package,valueonly,separator=%x20)|"
        "%(trailers:key=Afresh-Subtask,valueonly,separator=%x20)", "main..afresh/token-auth",
    )  # fmt: skip

    packages = {line.split("|")[1] for line in log.splitlines()}
    subtasks = [line.split("|")[2] for line in log.splitlines()]
    assert packages == {"afresh-demo/token-auth"}
    # The first is the plan alone: a push that the server refuses costs no agent.
    assert subtasks == ["T005", "T004", "T003", "T002", "T001", ""]


def test_the_status_tells_turns_tokens_and_cost(cluster: Cluster, demo: DemoRun) -> None:
    status = cluster.api.get("workpackages", "token-auth", DEMO)["status"]

    assert status["usage"]["episodes"] == 5
    assert status["usage"]["outputTokens"] > 0
    assert status["cost"].startswith("$")
    attempts = [
        attempt
        for child in cluster.api.items("subtasks", DEMO)
        for attempt in child["status"]["attempts"]
    ]
    assert [attempt["outcome"] for attempt in attempts] == ["Success"] * 5
    assert all(attempt["turns"] > 1 for attempt in attempts)


def test_a_namespace_that_is_not_the_demos_is_never_deleted(
    cluster: Cluster, demo: DemoRun
) -> None:
    label = "app.kubernetes.io/part-of"
    cluster.kubectl("label", "namespace", DEMO, f"{label}-")
    try:
        done = cluster.run("make", "-C", str(ROOT), "demo-down", "CLUSTER=current")
    finally:
        cluster.kubectl("label", "namespace", DEMO, f"{label}=afresh-demo")

    assert done.returncode != 0
    assert "The demo did not create the namespace afresh-demo" in done.stderr
    assert cluster.api.get("namespaces", DEMO)["status"]["phase"] == "Active"


def test_the_model_key_is_in_no_object_but_its_secret(cluster: Cluster, demo: DemoRun) -> None:
    key = secret_value(cluster, DEMO, "model-key", "api-key")

    everything = cluster.kubectl(
        "get", "wp,st,jobs,pods,events,deployments", "-n", DEMO, "-o", "json"
    )
    logs = "".join(
        cluster.kubectl("logs", pod["metadata"]["name"], "-n", DEMO, "--all-containers")
        for pod in cluster.api.items("pods", DEMO)
        if "batch.kubernetes.io/job-name" in pod["metadata"]["labels"]
    )
    assert len(key) > 20
    assert key not in everything
    assert key not in logs

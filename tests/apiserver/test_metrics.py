"""The operator's metrics as a real Prometheus scrapes them; the test plays the node."""

import asyncio
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from afresh.contract.order import Order
from afresh.contract.report import PHASES, Report, Usage
from afresh.contract.words import Outcome
from deploy.monitoring.panels import ROWS
from tests.apiserver.kubectl import Kubectl
from tests.apiserver.operator_process import OperatorProcess
from tests.apiserver.story import chain, ended, node_of
from tests.monitoring.prometheus import ALERTS, Prometheus, running
from tests.monitoring.test_dashboard import chosen

pytestmark = pytest.mark.apiserver
USAGE = Usage(turns=2, input_tokens=100, output_tokens=20, cache_read_tokens=7, cost_usd="0.25")


@pytest.fixture
def operator(kubeconfig: Path, namespace: str, tmp_path: Path) -> Iterator[OperatorProcess]:
    process = OperatorProcess(kubeconfig, namespace, tmp_path / "operator.log")
    process.start()
    yield process
    if process.alive:
        process.kill()


@pytest.fixture
def prometheus(operator: OperatorProcess, tmp_path: Path) -> Iterator[Prometheus]:
    with running(tmp_path / "prometheus", operator.metrics_port, "/metrics") as found:
        yield found


def apply(kubectl: Kubectl, namespace: str) -> None:
    common = {"apiVersion": "afresh.dev/v1alpha1"}
    agent_class = {
        "adapter": "Claude",
        "image": "example.com/agent:1",
        "credentials": {"secretName": "model"},
        "pod": {"runtimeClassName": "gvisor"},
    }
    package = {
        "agentClassName": f"class-{namespace}",
        "repository": {"url": f"http://git.example.com/{namespace}.git"},
        "verify": {"command": ["true"]},
        "subtasks": chain(3),
    }
    sandbox = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass"}
    kubectl("apply", manifest={**sandbox, "metadata": {"name": "gvisor"}, "handler": "runsc"})
    for kind, metadata, spec in (
        ("AgentClass", {"name": f"class-{namespace}"}, agent_class),
        ("WorkPackage", {"name": "p", "namespace": namespace}, package),
    ):
        kubectl("apply", manifest={**common, "kind": kind, "metadata": metadata, "spec": spec})


class Fickle:
    """The second subtask fails at its first attempt; every Report tells its times and its use."""

    def __init__(self) -> None:
        self._failed = False

    def judge(self, order: Order) -> Outcome:
        if order.tasks and order.tasks[0].id == "T001" and not self._failed:
            self._failed = True
            return Outcome.VERIFY_FAILED
        return Outcome.SUCCESS

    def tell(self, told: Report) -> Report:
        now = time.time()
        phases = {name: now + at / 8 for at, name in enumerate(PHASES)}
        return replace(told, usage=USAGE, phases=phases)


def value(found: Prometheus, expression: str) -> float:
    (series,) = found.query(expression)
    return float(series["value"][1])


async def run_story(
    prometheus: Prometheus, kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    """Let the package run to its end, from when its counters have been scraped at zero."""
    apply(kubectl, namespace)
    at_work = 'afresh_live_episodes{runtime_class="gvisor", state="running"} == 1'
    at_zero = 'afresh_episodes_total{outcome="Success"} == 0'
    await asyncio.to_thread(prometheus.wait_for, at_work, at_zero)
    fickle = Fickle()
    async with node_of(kubeconfig, namespace, fickle.judge) as node:
        node.tell = fickle.tell
        await ended(node.kube, namespace)
    at_end = 'afresh_packages{phase="Succeeded"} == 1', "sum(afresh_episodes_total) == 4"
    await asyncio.to_thread(prometheus.wait_for, *at_end)


async def test_after_a_story_prometheus_has_its_figures_and_every_panel_has_data(
    prometheus: Prometheus, kubectl: Kubectl, kubeconfig: Path, namespace: str
) -> None:
    await run_story(prometheus, kubectl, kubeconfig, namespace)

    mine = f'namespace="{namespace}", agent_class="class-{namespace}"'
    kind = f'{mine}, adapter="Claude", context_mode="FreshPerSubtask", runtime_class="gvisor"'
    want = {
        f'afresh_episodes_total{{{kind}, outcome="Success"}}': 3,
        f'afresh_subtask_outcomes_total{{{mine}, outcome="VerifyFailed"}}': 1,
        f'sum(afresh_subtasks{{{mine}, phase="Done"}})': 3,
        f'afresh_tokens_total{{{mine}, kind="input"}}': 400,
        f'afresh_tokens_total{{{mine}, kind="cache_read"}}': 28,
        f"afresh_cost_usd_total{{{mine}}}": 1,
        f'afresh_episode_seconds_total{{{mine}, kind="work"}}': pytest.approx(4 * 4 / 8),
        f'afresh_episode_phase_seconds_count{{agent_class="class-{namespace}", phase="push"}}': 4,
        f'afresh_gate_open{{namespace="{namespace}", secret_name="model"}}': 1,
    }
    assert {expression: value(prometheus, expression) for expression in want} == want
    panels = [panel for _, panels in ROWS for panel in panels if not panel.rare]
    prometheus.wait_for(*(chosen(query) for panel in panels for query, _ in panel.queries))


async def test_a_restarted_operator_does_not_count_again_what_is_recorded(
    operator: OperatorProcess,
    prometheus: Prometheus,
    kubectl: Kubectl,
    kubeconfig: Path,
    namespace: str,
) -> None:
    await run_story(prometheus, kubectl, kubeconfig, namespace)
    started = value(prometheus, "process_start_time_seconds")
    operator.kill()
    operator.start()

    prometheus.wait_for(
        f"process_start_time_seconds > {started} "
        'and on () (controller_runtime_reconcile_total{result=~"success|requeue_after"} > 0)'
    )

    assert prometheus.query("afresh_episodes_total > 0") == []
    assert value(prometheus, 'sum(afresh_packages{phase="Succeeded"})') == 1


def test_prometheus_knows_every_alert_and_evaluates_it_without_an_error(
    prometheus: Prometheus, promtool: Path, operator: OperatorProcess
) -> None:
    files = [yaml.safe_load(path.read_text()) for path in sorted(ALERTS.glob("*.yaml"))]
    want = {rule["alert"] for file in files for group in file["groups"] for rule in group["rules"]}
    prometheus.wait_for("afresh_build_info", "workqueue_depth")

    rules = evaluated(prometheus)
    _, exposed = operator.probe("/metrics")
    lint = subprocess.run(
        [str(promtool), "check", "metrics"],
        input=exposed, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip

    assert {rule["name"]: rule["health"] for rule in rules} == dict.fromkeys(want, "ok")
    assert (lint.returncode, lint.stderr) == (0, "")


def evaluated(prometheus: Prometheus) -> list[dict[str, Any]]:
    """The alerts, once each has been evaluated."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        groups = prometheus.ask("rules", type="alert")["groups"]
        rules = [rule for group in groups for rule in group["rules"]]
        if all(rule["health"] != "unknown" for rule in rules):
            return rules
        time.sleep(0.2)
    raise AssertionError("Prometheus does not evaluate the rules")

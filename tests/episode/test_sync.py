"""Orders without subtasks: the plan on the branch becomes that of the Order."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from afresh.contract import codec, plan_file
from afresh.contract.order import PlanLine
from afresh.contract.report import Report, Result
from afresh.contract.words import Marker, Outcome
from afresh.episode.sync import run_sync
from tests.episode.lone_runner import (
    BRANCH,
    LoneRunner,
    digest_of,
    order_for,
    over_ssh,
    plan_of,
    refuse,
)
from tests.episode.pod import Pod, make_order, wait_until
from tests.episode.servers import PASSWORD, USERNAME, Remote
from tests.episode.ssh_server import Sshd

LINES = (
    PlanLine(id="T001", title="Greeting", marker=Marker.SKIPPED),
    PlanLine(id="T003", title="Names", marker=Marker.DONE),
)
WANT = plan_file.render(plan_file.Plan(goal="Greet people.", lines=LINES))
OLD = "# Greet people.\n\n- [ ] T001 Greeting\n- [ ] T002 Removed\n"


@pytest.fixture
def runner(tmp_path: Path, remote: Remote) -> LoneRunner:
    order = replace(order_for(remote), tasks=(), plan=LINES)
    return LoneRunner.create(tmp_path / "runner", order)


def report_of(runner: LoneRunner) -> Report:
    """The Report after a sync that went well."""
    assert run_sync(runner.context, runner.begin_fetch()) is None
    report = runner.end()
    assert report.final
    assert report.results == ()
    return report


def start_alone(pod: Pod, url: str) -> subprocess.Popen[bytes]:
    """Start the runner's container for a sync; its pod has no other."""
    order = replace(make_order(url, ""), tasks=(), plan=LINES)
    pod.put("/afresh/podinfo/order", codec.dumps(order))
    (pod.root / "dev").mkdir()
    return pod._runner()


def failure_of(runner: LoneRunner) -> Result:
    """The result of a sync that failed, and the Report says nothing of a branch."""
    result = run_sync(runner.context, runner.begin_fetch())
    assert result
    assert result.id == ""
    assert result.commit is None
    report = runner.end()
    assert (report.head, report.plan_digest) == (None, None)
    return result


def test_plan_of_the_order_is_pushed_and_reported(runner: LoneRunner, remote: Remote):
    remote.commit(BRANCH, {"old.txt": "x", ".afresh/PLAN.md": OLD}, base="main")

    report = report_of(runner)

    assert plan_of(remote) == WANT
    assert remote.files(BRANCH) == [".afresh/PLAN.md", "AGENTS.md", "README.md", "old.txt"]
    assert (report.head, report.plan_digest) == (remote.head(BRANCH), digest_of(remote))
    assert remote.subjects(BRANCH)[0] == "Plan"
    assert {"prepared", "pushed"} <= set(report.phases)


def test_plan_that_is_there_already_is_reported_and_not_pushed(runner: LoneRunner, remote: Remote):
    head = remote.commit(BRANCH, {".afresh/PLAN.md": WANT}, base="main")
    refuse(remote, "refs/*")

    report = report_of(runner)

    assert (report.head, report.plan_digest) == (head, plan_file.digest(WANT))


def test_branch_that_does_not_exist_is_not_made_and_no_head_is_reported(
    runner: LoneRunner, remote: Remote
):
    report = report_of(runner)

    assert (report.head, report.plan_digest) == (None, None)
    assert remote.head(BRANCH) is None


def test_runner_alone_in_its_pod_syncs_and_ends_with_zero(pod: Pod, remote: Remote):
    remote.commit(BRANCH, {"old.txt": "x"}, base="main")

    code = start_alone(pod, remote.url).wait(60)

    assert code == 0, pod.log
    assert pod.report.final
    assert pod.report.results == ()
    assert pod.report.head == remote.head(BRANCH)
    assert plan_of(remote) == WANT
    assert not (pod.root / "afresh/control").exists()


def test_runner_alone_whose_sync_fails_ends_with_one_result_without_an_id(pod: Pod, remote: Remote):
    pod.give_credentials(USERNAME, "not-the-password")

    code = start_alone(pod, remote.url).wait(60)

    assert code == 1
    assert (pod.result.id, pod.result.outcome) == ("", Outcome.AUTH)


def test_runner_alone_that_is_told_to_stop_says_that_the_sync_is_not_done(
    pod: Pod, silent_port: int
):
    runner = start_alone(pod, f"http://127.0.0.1:{silent_port}/x.git")
    wait_until(lambda: '"prepare"' in pod.written)

    runner.terminate()

    assert runner.wait(60) == 1
    assert pod.report.final
    assert (pod.result.id, pod.result.outcome) == ("", Outcome.INFRASTRUCTURE)


def test_second_sync_of_the_same_order_adds_nothing(
    runner: LoneRunner, remote: Remote, tmp_path: Path
):
    remote.commit(BRANCH, {"old.txt": "x"}, base="main")
    report_of(runner)
    head = remote.head(BRANCH)

    report = report_of(LoneRunner.create(tmp_path / "again", runner.order))

    assert report.head == remote.head(BRANCH) == head


def test_password_that_is_wrong_is_a_matter_of_credentials(remote: Remote, tmp_path: Path):
    order = replace(order_for(remote), tasks=(), plan=LINES)
    secret = {"username": USERNAME, "password": PASSWORD[::-1]}

    result = failure_of(LoneRunner.create(tmp_path / "runner", order, secret))

    assert result.outcome is Outcome.AUTH
    assert 'Secret "git-credentials" in namespace "team-a"' in result.message


def test_secret_without_a_key_is_a_matter_of_configuration(remote: Remote, tmp_path: Path):
    order = replace(order_for(remote), tasks=(), plan=LINES)

    result = failure_of(LoneRunner.create(tmp_path / "runner", order, {"username": USERNAME}))

    assert result.outcome is Outcome.CONFIG
    assert 'has no key "password"' in result.message


def test_repository_that_cannot_be_reached_is_infrastructure(runner: LoneRunner):
    given = replace(runner.order.repository, url="http://127.0.0.1:9/x.git")
    order = replace(runner.order, repository=given)

    result = failure_of(LoneRunner(replace(runner.context, order=order)))

    assert result.outcome is Outcome.INFRASTRUCTURE
    assert "http://127.0.0.1:9/x.git cannot be reached" in result.message


def test_base_that_does_not_exist_is_a_matter_of_configuration(runner: LoneRunner):
    given = replace(runner.order.repository, base_ref="trunk")
    order = replace(runner.order, repository=given)

    result = failure_of(LoneRunner(replace(runner.context, order=order)))

    assert result.outcome is Outcome.CONFIG
    assert 'has no ref "trunk"' in result.message


def test_server_that_refuses_the_branch_is_a_matter_of_configuration(
    runner: LoneRunner, remote: Remote
):
    remote.commit(BRANCH, {"old.txt": "x"}, base="main")
    refuse(remote, "refs/heads/*")

    result = failure_of(runner)

    assert result.outcome is Outcome.CONFIG
    assert "refuses to update branch" in result.message


def test_repository_behind_ssh_is_synced(tmp_path: Path, remote: Remote, sshd: Sshd):
    remote.commit(BRANCH, {".afresh/PLAN.md": OLD}, base="main")
    order, secret = over_ssh(remote, sshd)
    order = replace(order, tasks=(), plan=LINES)

    report = report_of(LoneRunner.create(tmp_path / "runner", order, secret))

    assert plan_of(remote) == WANT
    assert (report.head, report.plan_digest) == (remote.head(BRANCH), digest_of(remote))


def test_runner_that_is_alone_in_its_pod_syncs_and_waits_for_no_container(pod: Pod, remote: Remote):
    remote.commit(BRANCH, {".afresh/PLAN.md": "# Old\n"}, base="main")

    report = pod.run_alone(replace(order_for(remote), tasks=()))

    assert pod.exit_code == 0, pod.log
    assert (report.final, report.results) == (True, ())
    assert report.head == remote.head(BRANCH)
    assert not (pod.root / "afresh/control").exists()


def test_runner_that_is_alone_in_its_pod_and_cannot_sync_says_why_in_its_only_result(pod: Pod):
    report = pod.run_alone(replace(make_order("http://127.0.0.1:9/x.git", ""), tasks=()))

    assert pod.exit_code == 1
    assert [(item.id, item.outcome) for item in report.results] == [("", Outcome.INFRASTRUCTURE)]


def test_order_that_cannot_be_read_is_refused_in_a_pod_without_control_volumes(pod: Pod):
    pod.put("/afresh/control", "no directory can be made here")

    report = pod.run_alone("{}")

    assert (pod.exit_code, report.final) == (1, True)

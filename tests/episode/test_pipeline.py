"""Several subtasks in one episode: each has its own commit, and the first failure ends it."""

import os
from dataclasses import replace

import pytest

from afresh.contract.order import Order, PlanLine, Step, Task, Verify
from afresh.contract.report import Result
from afresh.contract.words import Checkout, Marker, Outcome
from tests.contract.test_brief import FORBIDDEN
from tests.episode.pod import Pod, Started, make_order, make_task
from tests.episode.report_endpoint import listening
from tests.episode.servers import PASSWORD, USERNAME, Remote, git

BRANCH = "afresh/demo"
IDS = ("T001", "T002", "T003")
# Does what its brief asks for: the word after "Run:" is a script.
OBEY = "cat > $HOME/brief; sed -n 's/^Run: //p' $HOME/brief > $HOME/script; . $HOME/script"
WAIT = "touch $HOME/working; while [ ! -e $HOME/go-on ]; do sleep 0.02; done"


def tasks_for(*scripts: str, **changes: object) -> tuple[Task, ...]:
    """One subtask for each script."""
    return tuple(
        make_task(id=identity, title=f"Step {identity[-1]}", prompt=f"Run: {script}", **changes)
        for identity, script in zip(IDS, scripts, strict=False)
    )


def batch(remote: Remote, *scripts: str, **changes: object) -> Order:
    """An order for one subtask after another."""
    plan = tuple(
        PlanLine(id=identity, title=f"Step {identity[-1]}", marker=Marker.PENDING)
        for identity in IDS
    )
    return make_order(remote.url, OBEY, tasks=tasks_for(*scripts), plan=plan, **changes)


def summary(results: tuple[Result, ...]) -> list[tuple[str, Outcome, bool]]:
    return [(result.id, result.outcome, result.commit is not None) for result in results]


def test_three_subtasks_end_as_three_commits_and_three_results(pod: Pod, remote: Remote):
    report = pod.run(batch(remote, "echo a > a", "cat a; echo b > b", "cat a b; echo c > c"))

    assert summary(report.results) == [(identity, Outcome.SUCCESS, True) for identity in IDS]
    assert pod.exit_code == 0
    assert remote.subjects(BRANCH) == ["T003: Step 3", "T002: Step 2", "T001: Step 1", "Add files"]
    assert report.head == remote.head(BRANCH) == report.results[-1].commit
    assert remote.file(BRANCH, ".afresh/PLAN.md").splitlines()[-3:] == [
        "- [x] T001 Step 1", "- [x] T002 Step 2", "- [x] T003 Step 3",
    ]  # fmt: skip


def test_second_of_three_that_fails_ends_the_batch_and_the_third_has_no_result(
    pod: Pod, remote: Remote
):
    report = pod.run(batch(remote, "echo a > a", "echo b > b; exit 3", "echo c > c"))

    assert summary(report.results) == [
        ("T001", Outcome.SUCCESS, True),
        ("T002", Outcome.AGENT_ERROR, False),
    ]
    assert report.final
    assert pod.exit_code == 1
    assert remote.subjects(BRANCH) == ["T001: Step 1", "Add files"]
    assert report.head == remote.head(BRANCH)
    times = sorted(report.phases, key=lambda name: report.phases[name])
    assert times == [
        "runnerStarted", "pushed", "prepared", "agentReady", "agentStarted", "agentEnded",
        "reported",
    ]  # fmt: skip


def test_runner_that_is_stopped_in_the_second_subtask_keeps_the_first_and_blames_the_second(
    pod: Pod, remote: Remote
):
    def terminate(started: Started) -> None:
        started.wait_for((pod.root / "home/agent/working").exists)
        started.terminate()

    report = pod.run(batch(remote, "echo a > a", WAIT, "echo c > c"), terminate)

    assert summary(report.results) == [
        ("T001", Outcome.SUCCESS, True),
        ("T002", Outcome.INFRASTRUCTURE, False),
    ]
    assert remote.head(BRANCH) == report.results[0].commit


def test_runner_that_is_killed_in_the_second_subtask_leaves_the_first_in_its_report(
    pod: Pod, remote: Remote
):
    def kill(started: Started) -> None:
        started.wait_for((pod.root / "home/agent/working").exists)
        started.runner.kill()

    report = pod.run(batch(remote, "echo a > a", WAIT), kill)

    assert not report.final
    assert summary(report.results) == [("T001", Outcome.SUCCESS, True)]
    assert remote.head(BRANCH) == report.results[0].commit


def test_subtask_that_the_branch_has_already_is_found_done_and_the_next_one_is_done(
    pod: Pod, remote: Remote
):
    pod.run(replace(batch(remote, "echo a > a"), episode="before"))
    first = pod.result.commit
    second = Pod(pod.root.parent / "second")
    second.give_credentials(USERNAME, PASSWORD)

    report = second.run(batch(remote, "echo again > a", "cat a; echo b > b"))

    assert summary(report.results) == [(name, Outcome.SUCCESS, True) for name in IDS[:2]]
    assert report.results[0].commit == first
    assert remote.file(BRANCH, "a") == "a"
    assert remote.file(BRANCH, ".afresh/PLAN.md").splitlines()[-3:] == [
        "- [x] T001 Step 1", "- [x] T002 Step 2", "- [ ] T003 Step 3",
    ]  # fmt: skip


def test_only_subtask_that_is_found_done_is_reported_with_the_plan_that_stands_there(
    pod: Pod, remote: Remote
):
    before = pod.run(batch(remote, "echo a > a"))
    second = Pod(pod.root.parent / "second")
    second.give_credentials(USERNAME, PASSWORD)

    report = second.run(batch(remote, "echo again > a"))

    assert (report.head, report.plan_digest) == (before.head, before.plan_digest)
    assert report.plan_digest
    assert "agentStarted" not in report.phases


@pytest.mark.parametrize(
    "leave",
    [
        pytest.param("mkdir -p x/y; echo > x/y/built.o; echo > built.o", id="ignored files"),
        pytest.param("git add -A; git commit -qm mine; git checkout -qb other", id="git history"),
        pytest.param("echo a > .afresh/outbox/summary.md; echo x > .afresh/x", id="an outbox"),
        pytest.param("rm -r .git .afresh; ln -s /etc .git; ln -s /etc .afresh", id="links"),
        pytest.param(
            "mkdir locked; echo > locked/a.o; chmod 0 locked",
            id="a locked folder",
            marks=pytest.mark.skipif(os.geteuid() != 0, reason="needs root, which reads it"),
        ),
        pytest.param("echo '*.txt' > .gitignore; echo > b.txt; rm README.md", id="ignore rules"),
    ],
)
def test_worktree_of_the_next_subtask_shows_the_new_head_and_nothing_else_that_is_not_ignored(
    pod: Pod, remote: Remote, leave: str
):
    remote.commit("main", {".gitignore": "*.o\n", "x/kept": "x\n"})
    look = (
        "git log --oneline --all; git status --porcelain --ignored; git branch --all; "
        "ls -a .afresh .afresh/outbox; git ls-files; cat .afresh/PLAN.md $HOME/brief"
    )
    order = batch(remote, f"echo a > a; {leave}", f"( {look} ) > look")

    report = pod.run(order)

    assert summary(report.results) == [(name, Outcome.SUCCESS, True) for name in IDS[:2]], pod.log
    seen = remote.file(BRANCH, "look").splitlines()
    # Somebody who starts afresh from the first subtask's commit finds the same.
    git(remote.directory, "update-ref", f"refs/heads/{BRANCH}", report.results[0].commit or "")
    fresh = Pod(pod.root.parent / "fresh")
    fresh.give_credentials(USERNAME, PASSWORD)
    fresh.run(replace(order, tasks=order.tasks[1:]))
    want = remote.file(BRANCH, "look").splitlines()
    ignored = [line for line in seen if line.startswith("!! ")]
    assert [line for line in seen if line not in ignored] == want
    assert ("!! built.o" in ignored) == ("built.o" in leave)
    assert len(want) > 60


def test_brief_of_the_second_subtask_tells_what_stands_and_no_history(pod: Pod, remote: Remote):
    order = batch(remote, "echo a > a; echo A is there. > .afresh/outbox/summary.md", "echo > b")

    pod.run(replace(order, episode="demo-t001-7"))

    brief = (pod.root / "home/agent/brief").read_text()
    done = remote.commit_of(BRANCH, "T001: Step 1")
    assert f"- T001 (Step 1) is done, commit {done[:10]}. A is there." in brief
    assert "Files that finished tasks changed: a." in brief
    assert "After this task comes T003 (Step 3)." in brief
    assert "# T002 Step 2" in brief
    assert FORBIDDEN.findall(brief) == []
    assert "demo-t001" not in brief


def test_setup_runs_before_every_agent_and_every_verify(pod: Pod, remote: Remote):
    setup = Step(command=("sh", "-c", "echo setting up"))

    report = pod.run(batch(remote, "echo a > a", "echo b > b", setup=setup))

    assert [result.outcome for result in report.results] == [Outcome.SUCCESS] * 2
    assert pod.log.count("setup: setting up") == 4


def test_daemon_of_one_subtask_is_gone_in_the_next(pod: Pod, remote: Remote):
    leave = "sleep 600 & echo $! > $HOME/daemon; echo a > a"

    report = pod.run(batch(remote, leave, "kill -0 $(cat $HOME/daemon) || echo gone > b"))

    assert [result.outcome for result in report.results] == [Outcome.SUCCESS] * 2, pod.log


def test_files_that_verify_left_in_the_worktree_are_not_the_next_subtasks(pod: Pod, remote: Remote):
    litter = Verify(
        command=("sh", "-c", f"cd {pod.root}/workspace; mkfifo pipe; mkdir d; echo > d/litter"),
        checkout=Checkout.WORKTREE,
    )
    first, second = tasks_for("echo a > a", "test ! -e d && echo b > b")

    report = pod.run(replace(batch(remote), tasks=(replace(first, verify=litter), second)))

    assert [result.outcome for result in report.results] == [Outcome.SUCCESS] * 2, pod.log
    assert remote.files(BRANCH) == [".afresh/PLAN.md", "AGENTS.md", "README.md", "a", "b"]


def test_push_of_somebody_else_in_the_middle_is_what_the_next_subtask_starts_from(
    pod: Pod, remote: Remote
):
    theirs = (
        "T003: Step 3\n\nAfresh-Package: team-a/demo\nAfresh-Subtask: T003\nAfresh-Revision: 0\n"
    )

    def push(started: Started) -> None:
        started.wait_for((pod.root / "home/agent/working").exists)
        remote.commit(BRANCH, {"c": "c\n"}, message=theirs)
        pod.put("/home/agent/go-on", "")

    report = pod.run(batch(remote, "echo a > a", f"echo b > b; {WAIT}", "exit 1"), push)

    assert [result.outcome for result in report.results] == [Outcome.SUCCESS] * 3, pod.log
    assert remote.subjects(BRANCH)[:3] == ["T002: Step 2", "T003: Step 3", "T001: Step 1"]
    assert report.results[2].commit == git(remote.directory, "rev-parse", f"{BRANCH}~1")


def test_ignored_link_leads_no_file_of_the_next_head_out_of_the_worktree(pod: Pod, remote: Remote):
    remote.commit("main", {".gitignore": "/out\n"})
    (pod.root / "elsewhere").mkdir(parents=True)
    first = f"echo a > a; ln -s {pod.root}/elsewhere out; {WAIT}"

    def push(started: Started) -> None:
        started.wait_for((pod.root / "home/agent/working").exists)
        remote.commit(BRANCH, {"out/file": "theirs\n"}, base="main", message="Theirs")
        pod.put("/home/agent/go-on", "")

    report = pod.run(batch(remote, first, "cat out/file > b"), push)

    assert [result.outcome for result in report.results] == [Outcome.SUCCESS] * 2, pod.log
    assert remote.file(BRANCH, "b") == "theirs"
    assert list((pod.root / "elsewhere").iterdir()) == []


def test_hint_tells_of_each_subtask_before_the_next_one_begins(pod: Pod, remote: Remote):
    pod.put("/afresh/token/token", "a-projected-token")

    def wait(started: Started) -> None:
        started.wait_for(lambda: len(got) > 0)
        pod.put("/home/agent/go-on", "")

    with listening() as (place, got):
        report = pod.run(batch(remote, "echo a > a", f"echo b > b; {WAIT}", **place), wait)

    (_, first), (_, last) = got
    assert (first.final, last) == (False, report)
    assert first.results == report.results[:1]

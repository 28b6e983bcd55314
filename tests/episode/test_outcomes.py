"""One episode per situation: what is reported, what is on the branch, and that nothing is left."""

import pytest

from afresh.contract.order import Step, Task, Verify
from afresh.contract.words import Checkout, Outcome
from afresh.episode.git.scope import OUTSIDE, TOO_MANY
from afresh.episode.stages.classify import BLOCKED, NOT_WHY, SILENT
from afresh.episode.stages.verify import ALTERED
from tests.episode.pod import Pod, make_agent, make_order, make_task
from tests.episode.servers import Remote

BRANCH = "afresh/demo"
WORK = "echo hello > hello.txt"


def test_agent_does_its_work_ends_as_success_with_one_commit_on_a_new_branch(
    pod: Pod, remote: Remote
):
    pod.run(make_order(remote.url, WORK))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert pod.exit_code == 0
    assert pod.shim_codes == [0, 0]
    assert remote.head(BRANCH) == pod.result.commit == pod.report.head
    assert remote.file(BRANCH, "hello.txt") == "hello"
    assert remote.subjects(BRANCH) == ["T001: Greeting", "Add files"]
    assert remote.file(BRANCH, ".afresh/PLAN.md").splitlines()[-2:] == [
        "- [x] T001 Greeting",
        "- [ ] T002 Farewell",
    ]


def test_what_the_agent_says_of_its_work_is_reported(pod: Pod, remote: Remote):
    pod.run(
        make_order(remote.url, f"{WORK}; echo 'Greets in one file.' > .afresh/outbox/summary.md")
    )

    assert pod.result.summary == "Greets in one file."


def test_every_stage_of_a_success_has_its_time_in_order(pod: Pod, remote: Remote):
    phases = pod.run(make_order(remote.url, WORK)).phases

    assert list(phases) == [
        "runnerStarted", "prepared", "agentReady", "agentStarted", "agentEnded", "committed",
        "verified", "pushed", "reported",
    ]  # fmt: skip
    assert list(phases.values()) == sorted(phases.values())


@pytest.mark.parametrize(
    ("agent", "task", "want", "want_message"),
    [
        pytest.param(
            f"{WORK}; exit 3",
            make_task(),
            Outcome.AGENT_ERROR,
            "The agent program ended with exit code 3; read the end of its log with afresh logs.",
            id="the agent ends with an error",
        ),
        pytest.param(
            "true",
            make_task(),
            Outcome.NO_CHANGES,
            SILENT,
            id="nothing is changed and nothing is said",
        ),
        pytest.param(
            "echo ' ' > .afresh/outbox/unchanged.md",
            make_task(),
            Outcome.NO_CHANGES,
            SILENT,
            id="nothing is changed and unchanged.md says nothing",
        ),
        pytest.param(
            "echo '  Which key\nsigns the tokens? ' > .afresh/outbox/blocked.md",
            make_task(),
            Outcome.BLOCKED,
            f"{BLOCKED} Details: Which key signs the tokens?",
            id="the agent asks for a decision",
        ),
        pytest.param(
            f"{WORK}; touch .afresh/outbox/blocked.md; exit 1",
            make_task(),
            Outcome.BLOCKED,
            f"{BLOCKED} Details: {NOT_WHY}",
            id="the agent is blocked and ends with an error",
        ),
        pytest.param(
            f"{WORK}; echo x > other.txt",
            make_task(files=("hello.txt",)),
            Outcome.OUT_OF_SCOPE,
            f"{OUTSIDE} Details: other.txt",
            id="a file outside of the subtask's files is changed",
        ),
        pytest.param(
            "rm README.md",
            make_task(files=("hello.txt",)),
            Outcome.OUT_OF_SCOPE,
            f"{OUTSIDE} Details: README.md",
            id="a file outside of the subtask's files is deleted",
        ),
        pytest.param(
            "touch a b c",
            make_task(max_new_files=2),
            Outcome.OUT_OF_SCOPE,
            f"{TOO_MANY} Details: a, b, c",
            id="more files are added than allowed",
        ),
        pytest.param(
            WORK,
            make_task(verify=Verify(command=("sh", "-c", "echo no greeting >&2; exit 4"))),
            Outcome.VERIFY_FAILED,
            "The acceptance command ended with exit code 4 on the committed files; read its output "
            "with afresh logs, then add guidance or correct the command.",
            id="the acceptance command fails",
        ),
        pytest.param(
            WORK,
            make_task(verify=Verify(command=("sh", "-c", "echo x > hello.txt"))),
            Outcome.VERIFY_FAILED,
            f"{ALTERED} Details: hello.txt",
            id="the acceptance command changes what was committed",
        ),
        pytest.param(
            WORK,
            make_task(verify=Verify(command=("sleep", "60"), timeout_seconds=1)),
            Outcome.VERIFY_FAILED,
            "The acceptance command did not end within its time limit on the committed files; "
            "raise its timeoutSeconds, or make it do less.",
            id="the acceptance command does not end",
        ),
        pytest.param(
            WORK,
            make_task(verify=Verify(command=("no-such-program",))),
            Outcome.VERIFY_FAILED,
            "The acceptance command was not found; correct it, or use an image that has it.",
            id="the acceptance command is not in the image",
        ),
    ],
)
def test_work_that_is_not_done_ends_with_its_outcome_and_is_not_on_the_branch(
    pod: Pod, remote: Remote, agent: str, task: Task, want: Outcome, want_message: str
):
    pod.run(make_order(remote.url, agent, tasks=(task,)))

    assert (pod.result.outcome, pod.result.message) == (want, want_message), pod.log
    assert pod.result.commit is None
    assert pod.report.final
    assert pod.exit_code == 1
    if want in (Outcome.BLOCKED, Outcome.OUT_OF_SCOPE):  # a person is to read the plan
        assert remote.subjects(BRANCH) == ["Plan", "Add files"]
        assert {"hello.txt", "other.txt", "a"}.isdisjoint(remote.files(BRANCH))
    else:
        assert remote.head(BRANCH) is None


def test_container_whose_shell_is_not_its_first_process_is_a_matter_of_configuration(
    pod: Pod, remote: Remote
):
    pod.shell = ("sh", "-c", 'dash -c "$1"; true')

    pod.run(make_order(remote.url, WORK))

    assert pod.result.outcome is Outcome.CONFIG, pod.log
    assert "not the first process of its container" in pod.result.message


def test_failing_acceptance_command_is_reported_with_its_end_and_its_output(
    pod: Pod, remote: Remote
):
    verify = Verify(command=("sh", "-c", "echo first; echo no greeting >&2; exit 4"))

    pod.run(make_order(remote.url, WORK, tasks=(make_task(verify=verify),)))

    assert pod.result.verify
    assert pod.result.verify.exit_code == 4
    assert set(pod.result.verify.tail.splitlines()) == {"first", "no greeting"}


def test_agent_that_ignores_term_with_its_children_is_killed_at_its_limit(pod: Pod, remote: Remote):
    stubborn = "trap '' TERM; (trap '' TERM; sleep 600) & while :; do sleep 1; done"

    pod.run(make_order(remote.url, "", agent=make_agent(stubborn, timeout_seconds=2)))

    assert pod.result.outcome is Outcome.TIMEOUT, pod.log
    assert pod.result.exit_code == 137
    assert remote.head(BRANCH) is None


def test_agent_that_leaves_a_daemon_behind_is_a_success_and_the_daemon_is_gone(
    pod: Pod, remote: Remote
):
    pod.run(make_order(remote.url, f"{WORK}; setsid sleep 600 & exit 0"))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log


def test_nothing_to_change_with_a_reason_and_a_passing_verify_is_done_by_a_plan_commit(
    pod: Pod, remote: Remote
):
    pod.run(make_order(remote.url, "echo It is there. > .afresh/outbox/unchanged.md"))

    assert pod.result.outcome is Outcome.NO_CHANGES, pod.log
    assert pod.result.commit == remote.head(BRANCH)
    assert pod.exit_code == 0
    assert "It is there." in remote.message(BRANCH)
    assert remote.files(BRANCH) == [".afresh/PLAN.md", "AGENTS.md", "README.md"]


def test_nothing_to_change_with_a_reason_but_a_failing_verify_is_a_failed_verify(
    pod: Pod, remote: Remote
):
    task = make_task(verify=Verify(command=("false",)))

    pod.run(make_order(remote.url, "echo Done. > .afresh/outbox/unchanged.md", tasks=(task,)))

    assert pod.result.outcome is Outcome.VERIFY_FAILED, pod.log
    assert remote.head(BRANCH) is None


def test_notes_of_the_agent_are_in_the_commit_that_was_verified(pod: Pod, remote: Remote):
    notes = (
        "cd .afresh/outbox; echo The greeting exists. > summary.md;"
        "echo Names are UTF-8. > discovery.md; echo Greet in Latin. > ideas.md; cd ../.."
    )
    task = make_task(verify=Verify(command=("grep", "-q", "Greet in Latin.", ".afresh/IDEAS.md")))

    pod.run(make_order(remote.url, f"{WORK}; {notes}", tasks=(task,)))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert remote.message(BRANCH) == (
        "T001: Greeting\n\nThe greeting exists.\n\nAfresh-Package: team-a/demo\n"
        "Afresh-Subtask: T001\nAfresh-Revision: 0\nAfresh-Files: hello.txt"
    )
    assert remote.file(BRANCH, ".afresh/DISCOVERY.md") == (
        "# Discovery\n\n## T001 Greeting\n\nNames are UTF-8."
    )
    assert ".afresh/outbox/summary.md" not in remote.files(BRANCH)


def test_setup_runs_before_the_agent_and_before_verify(pod: Pod, remote: Remote):
    setup = Step(command=("sh", "-c", "echo ready > $HOME/ready; echo setting up"))
    task = make_task(verify=Verify(command=("sh", "-c", "grep ready $HOME/ready")))

    pod.run(make_order(remote.url, f"grep ready $HOME/ready && {WORK}", setup=setup, tasks=(task,)))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert pod.log.count("setup: setting up") == 2


def test_failing_setup_is_a_matter_of_configuration(pod: Pod, remote: Remote):
    setup = Step(command=("sh", "-c", "exit 9"))

    pod.run(make_order(remote.url, WORK, setup=setup))

    assert pod.result.outcome is Outcome.CONFIG, pod.log
    assert pod.result.message == (
        "The setup command failed with exit code 9; "
        "correct spec.setup of the WorkPackage or its image."
    )


def test_verify_on_the_worktree_sees_what_is_not_committed(pod: Pod, remote: Remote):
    remote.commit("main", {".gitignore": "*.built\n"})
    command = ("sh", "-c", f"test -e {pod.root}/workspace/x.built")
    task = make_task(verify=Verify(command=command, checkout=Checkout.WORKTREE))

    pod.run(make_order(remote.url, f"{WORK}; touch x.built", tasks=(task,)))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert "x.built" not in remote.files(BRANCH)


def test_clean_checkout_has_the_committed_files_and_a_repository_of_its_own(
    pod: Pod, remote: Remote
):
    remote.commit("main", {".gitignore": "*.built\n"})
    listing = 'test "$(git ls-files | wc -l)" = 5 && test ! -e x.built && git status --porcelain'
    task = make_task(verify=Verify(command=("sh", "-c", listing)))

    pod.run(make_order(remote.url, f"{WORK}; touch x.built", tasks=(task,)))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert pod.result.verify
    assert pod.result.verify.tail == ""


def test_second_subtask_continues_the_branch_and_is_told_of_the_first(pod: Pod, remote: Remote):
    pod.run(make_order(remote.url, f"{WORK}; echo Hello is said. > .afresh/outbox/summary.md"))
    second = Pod(pod.root.parent / "second")
    second.put("/afresh/secrets/git/username", "ada")
    second.put(
        "/afresh/secrets/git/password", (pod.root / "afresh/secrets/git/password").read_text()
    )
    command = "cat > brief.txt; test ! -e .afresh/DISCOVERY.md"

    second.run(make_order(remote.url, command, tasks=(make_task(id="T002", title="Farewell"),)))

    assert second.result.outcome is Outcome.SUCCESS, second.log
    assert remote.subjects(BRANCH) == ["T002: Farewell", "T001: Greeting", "Add files"]
    brief = remote.file(BRANCH, "brief.txt")
    done = remote.commit_of(BRANCH, "T001: Greeting")
    assert f"- T001 (Greeting) is done, commit {done[:10]}. Hello is said." in brief
    assert "Files that finished tasks changed: hello.txt." in brief
    assert "Of the 2 tasks in the plan, 1 is done." in brief

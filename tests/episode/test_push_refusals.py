"""A server that refuses a push, told by real hooks: what it costs, and what becomes of the work."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from afresh.contract.order import Kept, Order, Verify
from afresh.contract.report import Report, Result
from afresh.contract.words import Outcome, PushRefusal
from afresh.episode.sync import run_sync
from tests.episode.lone_runner import BRANCH, LoneRunner, give_hook, over_ssh, refuse
from tests.episode.pod import Pod, make_order, make_task
from tests.episode.servers import PASSWORD, USERNAME, Remote, git
from tests.episode.ssh_server import Sshd

REF = "refs/afresh/team-a/demo/T001"
WORK = "echo worked; echo hello > hello.txt; echo Names. > .afresh/outbox/discovery.md"
CODE_REFUSED = (
    'if [ "$1" = refs/heads/{branch} ] && git cat-file -e "$3:hello.txt" 2>/dev/null; then '
    "echo no greetings here >&2; exit 1; fi"
)
SECRET = {"username": USERNAME, "password": PASSWORD}


def checked(url: str, script: str = WORK, **changes: object) -> Order:
    return make_order(url, script, push_check=True, **changes)


def another(pod: Pod, number: int) -> Pod:
    """A fresh pod for the same package."""
    made = Pod(pod.root.with_name(f"{pod.root.name}-{number}"))
    made.give_credentials(USERNAME, PASSWORD)
    return made


def agents(*pods: Pod) -> int:
    """How many agents were started, counted by what each says."""
    return sum("worked" in pod.log for pod in pods)


def allow(remote: Remote) -> None:
    for name in ("update", "pre-receive"):
        (remote.directory / "hooks" / name).unlink(missing_ok=True)


def refuse_code(remote: Remote) -> None:
    give_hook(remote, CODE_REFUSED.format(branch=BRANCH))


def probe(root: Path, order: Order, *kept: Kept, secret: dict[str, str] | None = None) -> Report:
    """What the runner alone reports of a push probe."""
    runner = LoneRunner.create(root, replace(order, tasks=(), kept=kept), secret or SECRET)
    problem = run_sync(runner.context, runner.begin_fetch())
    if problem:
        runner.context.reporter.add(problem)
    runner.context.reporter.ended_well()
    return runner.end()


def kept_of(result: Result) -> Kept:
    assert result.unpushed
    assert result.unpushed.kept
    return Kept(id=result.id, commit=result.unpushed.kept, revision=result.revision)


def refused_work(pod: Pod, remote: Remote) -> Kept:
    """An episode whose work the server does not take on the branch, but keeps."""
    refuse_code(remote)
    pod.run(checked(remote.url))
    assert pod.result.outcome is Outcome.CONFIG, pod.log
    return kept_of(pod.result)


@pytest.mark.parametrize("branch_exists", [True, False], ids=["a branch", "no branch yet"])
def test_first_push_is_of_the_plan_alone_and_then_the_agent_works_on_top_of_it(
    pod: Pod, remote: Remote, branch_exists: bool
):
    if branch_exists:
        remote.commit(BRANCH, {"old.txt": "x"}, base="main")

    report = pod.run(checked(remote.url))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert remote.subjects(BRANCH)[:2] == ["T001: Greeting", "Plan"]
    assert report.push_passed
    changed = git(remote.directory, "diff", "--name-only", f"{BRANCH}~2", f"{BRANCH}~")
    assert changed == ".afresh/PLAN.md"


@pytest.mark.parametrize(
    ("refusal", "want_words"),
    [
        pytest.param(lambda remote: refuse(remote, "refs/heads/*"), "refuses to update branch",
                     id="a protected branch"),
        pytest.param(lambda remote: give_hook(remote, "exit 1"), "A rule of the server",
                     id="a hook of its own"),
        pytest.param(
            lambda remote: git(remote.directory, "config", "receive.maxInputSize", "1"),
            "refuses a push or a file of this size", id="a limit on sizes",
        ),
    ],
)  # fmt: skip
def test_server_that_refuses_every_push_costs_no_agent(
    pod: Pod, remote: Remote, refusal: Callable[[Remote], object], want_words: str
):
    refusal(remote)

    report = pod.run(checked(remote.url))

    assert (pod.result.outcome, agents(pod)) == (Outcome.CONFIG, 0), pod.log
    assert pod.result.unpushed
    assert pod.result.unpushed.refusal is PushRefusal.PLAN
    assert want_words in pod.result.message
    assert not report.push_passed
    assert remote.head(BRANCH) is None


def test_key_that_may_only_read_costs_no_agent(pod: Pod, remote: Remote):
    git(remote.directory, "config", "http.receivepack", "false")

    pod.run(checked(remote.url))

    assert (pod.result.outcome, agents(pod)) == (Outcome.AUTH, 0), pod.log
    assert pod.result.unpushed
    assert pod.result.unpushed.refusal is PushRefusal.PLAN


def test_episode_that_is_not_asked_to_check_pushes_no_plan_of_its_own(pod: Pod, remote: Remote):
    pod.run(make_order(remote.url, WORK))

    assert remote.subjects(BRANCH) == ["T001: Greeting", "Add files"]


def test_work_that_the_server_refuses_is_kept_as_it_was_verified_and_delivered_without_an_agent(
    pod: Pod, remote: Remote
):
    kept = refused_work(pod, remote)
    assert git(remote.directory, "rev-parse", REF) == kept.commit
    assert f"is kept on {REF}" in pod.result.message
    order = checked(remote.url)

    refused = probe(pod.root / "first", order, kept)
    allow(remote)
    passed = probe(pod.root / "second", order, kept)

    (result,) = refused.results
    assert (result.id, result.outcome) == ("", Outcome.CONFIG)
    assert result.unpushed
    assert result.unpushed.refusal is PushRefusal.KEPT
    assert remote.head(BRANCH) == kept.commit
    assert [(item.id, item.commit) for item in passed.results] == [("T001", kept.commit)]
    assert (passed.push_passed, passed.head) == (True, kept.commit)
    assert agents(pod) == 1
    assert REF not in git(remote.directory, "for-each-ref")


def test_delivery_that_nobody_took_note_of_is_found_and_pushed_once(pod: Pod, remote: Remote):
    kept = refused_work(pod, remote)
    allow(remote)
    probe(pod.root / "first", checked(remote.url), kept)

    again = probe(pod.root / "second", checked(remote.url), kept)

    assert [(item.id, item.commit) for item in again.results] == [("T001", kept.commit)]
    assert remote.subjects(BRANCH).count("T001: Greeting") == 1


def test_kept_work_under_a_branch_that_moved_is_verified_on_top_of_it_without_an_agent(
    pod: Pod, remote: Remote
):
    kept = refused_work(pod, remote)
    allow(remote)
    remote.commit(BRANCH, {"bye.txt": "bye\n"}, message="A person's")

    report = probe(pod.root / "probe", checked(remote.url), kept)
    verify = Verify(command=("sh", "-c", "test -e bye.txt && test -e hello.txt"))
    task = make_task(kept=kept.commit, has_work_aside=True, verify=verify)
    later = another(pod, 2)
    later.run(make_order(remote.url, WORK, tasks=(task,)))

    assert (report.results, report.push_passed) == ((), True)
    assert later.result.outcome is Outcome.SUCCESS, later.log
    assert later.result.commit == remote.head(BRANCH)
    assert agents(pod, later) == 1
    assert later.result.verify, "it was verified anew"
    assert remote.subjects(BRANCH)[:3] == ["T001: Greeting", "Plan", "A person's"]
    assert remote.file(BRANCH, ".afresh/DISCOVERY.md").endswith("## T001 Greeting\n\nNames.")
    assert "- [x] T001" in remote.file(BRANCH, ".afresh/PLAN.md")


@pytest.mark.parametrize(
    ("theirs", "verify"),
    [
        pytest.param({"hello.txt": "salve\n"}, ("true",), id="it contradicts what others pushed"),
        pytest.param({"bye.txt": "x"}, ("sh", "-c", "test ! -e bye.txt || grep again hello.txt"),
                     id="verify fails on top of what others pushed"),
    ],
)  # fmt: skip
def test_kept_work_that_does_not_fit_any_more_is_done_by_an_agent_in_the_same_episode(
    pod: Pod, remote: Remote, theirs: dict[str, str], verify: tuple[str, ...]
):
    kept = refused_work(pod, remote)
    allow(remote)
    remote.commit(BRANCH, theirs)
    task = make_task(kept=kept.commit, has_work_aside=True, verify=Verify(command=verify))
    later = another(pod, 2)

    later.run(make_order(remote.url, "echo worked; echo again > hello.txt", tasks=(task,)))

    assert later.result.outcome is Outcome.SUCCESS, later.log
    assert (agents(later), remote.file(BRANCH, "hello.txt")) == (1, "again")


def test_commit_on_the_side_ref_that_is_not_the_verified_one_is_not_delivered(
    pod: Pod, remote: Remote
):
    kept = refused_work(pod, remote)
    allow(remote)
    git(remote.directory, "update-ref", REF, remote.commit("other", {"evil.txt": "x"}, base=BRANCH))

    report = probe(pod.root / "probe", checked(remote.url), kept)
    task = make_task(kept=kept.commit, has_work_aside=True)
    later = another(pod, 2)
    later.run(make_order(remote.url, WORK, tasks=(task,)))

    assert report.results == ()
    assert later.result.outcome is Outcome.SUCCESS, later.log
    assert "evil.txt" not in remote.files(BRANCH)


def test_server_that_takes_neither_the_work_nor_a_side_ref_loses_it_and_the_message_says_so(
    pod: Pod, remote: Remote
):
    give_hook(
        remote, CODE_REFUSED.format(branch=BRANCH) + "; case $1 in refs/afresh/*) exit 1; esac"
    )

    pod.run(checked(remote.url))

    assert pod.result.outcome is Outcome.CONFIG, pod.log
    assert pod.result.unpushed
    assert (pod.result.unpushed.refusal, pod.result.unpushed.kept) == (PushRefusal.LOST, None)
    assert "could not be kept either and is lost" in pod.result.message
    # The plan is taken all the same, and an ordinary probe says so.
    assert probe(pod.root / "probe", checked(remote.url)).push_passed


def test_probe_of_a_branch_that_has_all_of_the_plan_pushes_an_empty_commit(
    pod: Pod, remote: Remote
):
    pod.run(checked(remote.url))
    before = remote.head(BRANCH)

    report = probe(pod.root / "probe", checked(remote.url))

    assert report.push_passed
    assert git(remote.directory, "diff", "--name-only", f"{before}", BRANCH) == ""
    assert remote.subjects(BRANCH)[:3] == ["Plan", "T001: Greeting", "Plan"]


@pytest.mark.parametrize("push_check", [True, False], ids=["before work", "after work"])
@pytest.mark.parametrize("branch_exists", [True, False], ids=["a branch", "no branch yet"])
def test_server_that_claims_a_moved_branch_and_has_none_is_refusing(
    pod: Pod, remote: Remote, push_check: bool, branch_exists: bool
):
    if branch_exists:
        remote.commit(BRANCH, {"old.txt": "x"}, base="main")
    give_hook(remote, f'[ "$1" != refs/heads/{BRANCH} ] || {{ echo cannot lock ref >&2; exit 1; }}')

    pod.run(make_order(remote.url, WORK, push_check=push_check))

    assert pod.result.outcome is Outcome.CONFIG, pod.log
    assert agents(pod) == (not push_check)
    assert pod.result.unpushed
    want = PushRefusal.PLAN if push_check else PushRefusal.KEPT
    assert pod.result.unpushed.refusal is want


@pytest.mark.parametrize("refused", [True, False], ids=["refused", "allowed"])
def test_repository_behind_ssh_is_probed(tmp_path: Path, remote: Remote, sshd: Sshd, refused: bool):
    if refused:
        refuse(remote, "refs/heads/*")
    order, secret = over_ssh(remote, sshd)

    report = probe(tmp_path / "runner", replace(order, push_check=True), secret=secret)

    assert report.push_passed is not refused
    assert (remote.head(BRANCH) is None) is refused
    if refused:
        (result,) = report.results
        assert result.unpushed
        assert (result.outcome, result.unpushed.refusal) == (Outcome.CONFIG, PushRefusal.PLAN)

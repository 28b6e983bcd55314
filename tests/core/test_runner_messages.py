"""What runners and adapters say themselves: with long causes it keeps what to do, in one text.

The rest of the table of producers; `test_message_sentences` finds who is missing in it.
"""

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from afresh.adapters.command import CommandReader
from afresh.contract.order import Order, Step, Task, Verify
from afresh.episode import credentials
from afresh.episode.container import commands
from afresh.episode.credentials import SecretMount
from afresh.episode.git import authorship, mirror, refusals, scope, submodules, unsafe_files
from afresh.episode.git.faults import GitError, GitFault
from afresh.episode.git.lfs import files
from afresh.episode.git.repository import GitRepository
from afresh.episode.git.scope import FileChange
from afresh.episode.paths import Paths
from afresh.episode.stages import check_program, prepare, push, verify
from afresh.episode.stopped import SubtaskStopped
from tests.core.test_message_producers import ORDER, URL, Produce, cause, check_message

NOWHERE = Path("/nonexistent")
SECRET = SecretMount(
    name="anthropic",
    namespace="team-a",
    field="spec.credentials.secretName of the AgentClass",
    directory=NOWHERE,
)
LONG = "a" * 5000
TASK = Task(
    id="T001",
    title="",
    prompt="",
    verify=Verify(command=(LONG,), image="registry.example.com/verify:1"),
    files=("src/**",),
)
LINK = submodules.Link(path=LONG, url="https://git.example.com/lib.git", commit="c" * 40)


def of_end(end: Callable[[], object]) -> Produce:
    """The message of how an episode ends, whether that is returned or raised."""

    def produce(_: str, __: int) -> str:
        try:
            ended = end()
        except SubtaskStopped as raised:
            return raised.message
        assert isinstance(ended, SubtaskStopped)
        return ended.message

    return produce


def bad_signing_key() -> None:
    """Sign with what is no key."""
    with tempfile.TemporaryDirectory() as folder:
        paths = Paths(git_dir=Path(folder), signing_secret=Path(folder) / "secret")
        paths.signing_secret.mkdir()
        (paths.signing_secret / "ssh-privatekey").write_text(LONG)
        signing = replace(ORDER.repository, signing_secret_name="signing")
        authorship.prepare_key(replace(ORDER, repository=signing), paths)


def damaged_mirror() -> SubtaskStopped:
    order = with_repository(cache_claim_name="mirrors")
    return mirror.Mirror(folder=NOWHERE, git=GitRepository(git_dir=NOWHERE), order=order).damaged()


def with_repository(**fields: str | None) -> Order:
    return replace(ORDER, repository=replace(ORDER.repository, **fields))


def not_pushed(problem: str | None) -> Produce:
    branch = "feature/" + "b" * 190
    refused = refusals.declined(with_repository(branch=branch)).message
    return lambda *_: push.kept_message(ORDER, TASK, refused, problem)


def of_scope(*changes: FileChange, task: Task = TASK) -> Produce:
    return lambda *_: scope.scope_problem(task, changes) or ""


def of_setup(_: str, number: int) -> str:
    tail = cause("cannot find", number)
    return prepare.setup_failed(
        commands.StepEnd(exit_code=2, tail=f"{number}\n{tail[400:]}")
    ).message


ADDED = tuple(
    FileChange(path=f"src/{n}/{LONG[:900]}", status="A", mode="100644") for n in range(12)
)
CASES = [
    pytest.param(
        lambda *_: CommandReader().verdict(3).message, "exit code 3", "afresh logs.", id="command"
    ),
    pytest.param(of_setup, "setup command", "correct spec.setup", id="setup"),
    pytest.param(of_end(SECRET.require_any), '"anthropic"', "create it or correct", id="no Secret"),
    pytest.param(
        of_end(lambda: SECRET.require("api-key")), "api-key", "create it or correct", id="no key"
    ),
    pytest.param(
        of_end(lambda: credentials.no_ssh_key(ORDER.repository)),
        URL,
        "spec.repository.secretName of the WorkPackage.",
        id="no SSH key",
    ),
    pytest.param(
        of_end(lambda: check_program.missing(replace(ORDER, setup=Step(command=("x",))), TASK)),
        "on the PATH of registry.example.com/verify:1.",
        "Correct the command of verify",
        id="no program to verify with",
    ),
    *(
        pytest.param(
            lambda *_, code=code: verify.sentence_of_end("acceptance command", code),
            "acceptance command",
            remedy,
            id=f"verify {code}",
        )
        for code, remedy in {
            124: "raise its timeoutSeconds, or make it do less.",
            137: "raise spec.resources.limits.memory, or make it use less.",
            127: "use an image that has it.",
            1: "then add guidance or correct the command.",
        }.items()
    ),
    pytest.param(of_end(bad_signing_key), '"signing"', "without a passphrase.", id="signing key"),
    pytest.param(of_end(damaged_mirror), '"mirrors"', "creates a new one.", id="mirror"),
    pytest.param(
        of_end(lambda: refusals.no_base(ORDER)), '"main"', "spec.repository.baseRef.", id="base"
    ),
    pytest.param(
        of_end(lambda: refusals.branch_deleted(ORDER)), '"afresh/demo"', "push it again", id="gone"
    ),
    pytest.param(
        of_end(
            lambda: refusals.remote_problem(
                with_repository(secret_name=None), GitError("fetch", "", fault=GitFault.DENIED)
            )
        ),
        URL,
        "name a Secret in spec.repository.secretName",
        id="no credentials",
    ),
    *(
        pytest.param(
            of_end(lambda fault=fault: submodules.unavailable(ORDER, LINK, fault)),
            "https://git.example.com/lib.git",
            "correct that, or spec.repository.submodules of the WorkPackage.",
            id=f"submodule {fault.name}",
        )
        for fault in (GitFault.DENIED, GitFault.NOT_FOUND, GitFault.REF_MISSING, GitFault.OTHER)
    ),
    pytest.param(lambda *_: files.INVENTED, "Git LFS", "write the file itself.", id="LFS pointer"),
    pytest.param(
        of_scope(FileChange(path=LONG, status="A", mode=scope.GITLINK)),
        "embedded",
        "skip the subtask.",
        id="embedded",
    ),
    pytest.param(
        of_scope(FileChange(path=LONG, status="M", mode="100644")),
        "outside",
        "extend files, or",
        id="outside",
    ),
    pytest.param(of_scope(*ADDED), "maxNewFiles", "raise it, or", id="too many files"),
    *(
        pytest.param(lambda *_, said=said: said, "The agent left", "skip the subtask.", id=said)
        for said in (unsafe_files.LIKE_STATE, unsafe_files.NO_FILE, unsafe_files.HUGE)
    ),
    pytest.param(
        not_pushed(None), "A rule of the server", "follow the rule that the runner's log", id="kept"
    ),
    pytest.param(
        not_pushed(LONG), "A rule of the server", "follow the rule that the runner's log", id="lost"
    ),
]


@pytest.mark.parametrize(("produce", "name", "remedy"), CASES)
def test_a_runners_message_keeps_its_remedy_and_names_and_is_the_same_for_the_same_cause(
    produce: Produce, name: str, remedy: str
) -> None:
    check_message(produce, name, remedy)


def test_a_commit_without_a_problem_is_reported_as_kept() -> None:
    message = not_pushed(None)("", 1)

    assert "The verified work of T001 is kept on refs/afresh/team-a/demo/T001." in message

"""Who the commits on the branch are by, and whether their signatures hold."""

from dataclasses import replace
from pathlib import Path

import pytest

from afresh.contract.order import Author, Order, Verify
from afresh.contract.words import Marker, Outcome
from tests.episode.pod import Pod, make_order, make_task
from tests.episode.servers import Remote, git
from tests.episode.ssh_server import make_key

BRANCH = "afresh/demo"
EMAIL = "bot@example.com"
SECRET_FILE = "/afresh/secrets/signing/ssh-privatekey"
WORK = "echo hello > hello.txt"
FAILED = make_task(verify=Verify(command=("false",)), marker_on_failure=Marker.SKIPPED)


def signed(remote: Remote, script: str = WORK, **changes: object) -> Order:
    """An Order whose commits are signed and by an author of its own."""
    order = make_order(remote.url, script, **changes)
    given = replace(
        order.repository,
        author=Author(name="Zoë Bot", email=EMAIL),
        signing_secret_name="signing",
    )
    return replace(order, repository=given)


@pytest.fixture
def public_key(pod: Pod, tmp_path: Path) -> str:
    """The public half of the key in the signing Secret."""
    public = make_key(tmp_path / "key")
    pod.put(SECRET_FILE, (tmp_path / "key").read_text())
    return public


def signer(remote: Remote, public_key: str, revision: str) -> str:
    """Who made the signature, as git says; fails without a good one."""
    allowed = remote.directory / "allowed"
    allowed.write_text(f"{EMAIL} {public_key}")
    check = ("-c", "gpg.format=ssh", "-c", f"gpg.ssh.allowedSignersFile={allowed}")
    git(remote.directory, *check, "verify-commit", revision)
    return git(remote.directory, *check, "log", "-1", "--format=%G? %GS", revision)


def test_commits_without_an_author_of_their_own_are_by_nobody_in_particular(
    pod: Pod, remote: Remote
):
    pod.run(make_order(remote.url, WORK))

    assert git(remote.directory, "log", "-1", "--format=%an %ae %cn %ce %G?", BRANCH) == (
        "Afresh afresh@localhost Afresh afresh@localhost N"
    )


def test_commit_of_a_subtask_is_by_the_author_and_its_signature_holds(
    pod: Pod, remote: Remote, public_key: str
):
    pod.run(signed(remote))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert git(remote.directory, "log", "-1", "--format=%an %ae %cn %ce", BRANCH) == (
        f"Zoë Bot {EMAIL} Zoë Bot {EMAIL}"
    )
    assert signer(remote, public_key, BRANCH) == f"G {EMAIL}"
    git(remote.directory, "fsck", "--strict")


@pytest.mark.parametrize(
    "ref", [BRANCH, "refs/afresh/team-a/demo/T001"], ids=["the plan", "the work aside"]
)
def test_commits_that_follow_a_failure_are_signed_too(
    pod: Pod, remote: Remote, public_key: str, ref: str
):
    pod.run(signed(remote, tasks=(FAILED,)))

    assert pod.result.outcome is Outcome.VERIFY_FAILED, pod.log
    assert signer(remote, public_key, ref) == f"G {EMAIL}"


def test_agent_sees_nothing_of_the_author(pod: Pod, remote: Remote, public_key: str):
    shown = "git log --format=%an%ae; cat .git/config; env; ls -A $HOME"

    pod.run(signed(remote, f"({shown}) > shown.txt 2>&1"))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    seen = remote.file(BRANCH, "shown.txt")
    assert "Agent" in seen
    assert EMAIL not in seen


@pytest.mark.parametrize(
    ("key", "want_message"),
    [
        pytest.param(
            None,
            'Secret "signing" in namespace "team-a" is missing or has no key "ssh-privatekey"; '
            "create it or correct spec.repository.signing.secretName of the WorkPackage.",
            id="there is no key",
        ),
        pytest.param(
            "no key at all",
            'The key "ssh-privatekey" of Secret "signing" in namespace "team-a" cannot sign; '
            "give it an SSH private key without a passphrase.",
            id="it is no key",
        ),
    ],
)
def test_secret_that_cannot_sign_ends_the_episode_before_the_agent_starts(
    pod: Pod, remote: Remote, key: str | None, want_message: str
):
    if key:
        pod.put(SECRET_FILE, key)

    pod.run(signed(remote, "echo agent; exit 3"))

    assert pod.result.outcome is Outcome.CONFIG, pod.log
    assert pod.result.message == want_message
    assert "agent" not in pod.log.splitlines()

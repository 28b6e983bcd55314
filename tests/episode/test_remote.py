"""What the remote repository holds, refuses or lacks, and what that makes of an episode."""

from dataclasses import replace

import pytest

from afresh.contract.order import Repository
from afresh.contract.words import Outcome
from tests.episode.pod import Pod, make_order, make_task
from tests.episode.servers import PASSWORD, USERNAME, Remote

BRANCH = "afresh/demo"
WORK = "echo hello > hello.txt"
DONE = "T001: Greeting\n\nAfresh-Package: team-a/demo\nAfresh-Subtask: T001\nAfresh-Revision: 3\n"


def repository(where: str, **changes: str | None) -> Repository:
    given = Repository(url=where, base_ref="main", branch=BRANCH, secret_name="git-credentials")
    return replace(given, **changes)


def another(pod: Pod) -> Pod:
    """A fresh pod for the same package."""
    made = Pod(pod.root.with_name(pod.root.name + "+"))
    made.give_credentials(USERNAME, PASSWORD)
    return made


@pytest.mark.parametrize("revision", [0, 3])
def test_trailer_of_the_wanted_revision_on_the_branch_is_success_without_an_agent(
    pod: Pod, remote: Remote, revision: int
):
    done = remote.commit(BRANCH, {"hello.txt": "hi"}, base="main", message=DONE)
    later = remote.commit(BRANCH, {"other.txt": "x"})
    task = make_task(revision=revision)

    pod.run(make_order(remote.url, "echo agent; false", tasks=(task,)))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert pod.result.commit == done
    assert "agent" not in pod.log.splitlines()
    assert pod.exit_code == 0
    assert remote.head(BRANCH) == later


@pytest.mark.parametrize(
    ("branch", "message"),
    [
        pytest.param(BRANCH, DONE.replace("Revision: 3", "Revision: 1"), id="a lower revision"),
        pytest.param(BRANCH, DONE.replace("T001\n", "T002\n"), id="another subtask"),
        pytest.param(BRANCH, DONE.replace("team-a/demo", "team-a/other"), id="another package"),
        pytest.param(BRANCH, DONE + "\nAnd more text.\n", id="a text in the middle of a message"),
        pytest.param("main", DONE, id="a commit of the base"),
    ],
)
def test_trailer_that_is_not_this_subtask_done_does_not_keep_the_agent_from_its_work(
    pod: Pod, remote: Remote, branch: str, message: str
):
    remote.commit(branch, {"a.txt": "a"}, base="main", message=message)

    pod.run(make_order(remote.url, WORK, tasks=(make_task(revision=2),)))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert remote.head(BRANCH) == pod.result.commit
    assert remote.file(BRANCH, "hello.txt") == "hello"


def test_branch_without_commits_of_its_own_is_continued(pod: Pod, remote: Remote):
    remote.commit(BRANCH, {}, base="main")
    main = remote.head(BRANCH)
    remote.commit("main", {"README.md": "Newer.\n"})

    pod.run(make_order(remote.url, WORK))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert main
    assert remote.subjects(BRANCH)[0] == "T001: Greeting"


def test_branch_that_is_the_base_itself_is_continued(pod: Pod, remote: Remote):
    given = repository(remote.url, branch="main")

    pod.run(make_order(remote.url, WORK, repository=given))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert remote.subjects("main") == ["T001: Greeting", "Add files"]


def test_base_that_is_a_commit_id_works_for_the_first_and_the_next_subtask(
    pod: Pod, remote: Remote
):
    base = remote.head("main")
    remote.commit("main", {"newer.txt": "x"})
    given = repository(remote.url, base_ref=base)

    pod.run(make_order(remote.url, WORK, repository=given))
    second = another(pod)
    second.run(
        make_order(
            remote.url, "cat > b.txt", repository=given, tasks=(make_task(id="T002", title="B"),)
        )
    )

    assert second.result.outcome is Outcome.SUCCESS, second.log
    assert remote.subjects(BRANCH) == ["T002: B", "T001: Greeting", "Add files"]
    assert "- T001 (Greeting) is done, commit " in remote.file(BRANCH, "b.txt")


@pytest.mark.parametrize(
    ("changes", "want", "want_message"),
    [
        pytest.param(
            {"base_ref": "trunk"},
            Outcome.CONFIG,
            'The repository {url} has no ref "trunk"; '
            "push it, or recreate the WorkPackage with another spec.repository.baseRef.",
            id="the base does not exist",
        ),
        pytest.param(
            {"url": "{server}/nothing.git"},
            Outcome.CONFIG,
            "The repository {server}/nothing.git is not found, or its credentials may not see it; "
            "correct spec.repository.secretName, or recreate the WorkPackage with another "
            "spec.repository.url.",
            id="the repository does not exist",
        ),
        pytest.param(
            {"url": "http://127.0.0.1:9/x.git"},
            Outcome.INFRASTRUCTURE,
            "The repository http://127.0.0.1:9/x.git cannot be reached; "
            "check spec.repository.url of the WorkPackage and the network.",
            id="nobody listens there",
        ),
        pytest.param(
            {"secret_name": None},
            Outcome.AUTH,
            "The repository {url} asks for credentials; "
            "name a Secret in spec.repository.secretName of the WorkPackage.",
            id="no Secret is named and one is needed",
        ),
        pytest.param(
            {"url": "file:///etc"},
            Outcome.CONFIG,
            "The repository file:///etc is not found, or its credentials may not see it; "
            "correct spec.repository.secretName, or recreate the WorkPackage with another "
            "spec.repository.url.",
            id="the URL is a path of the runner",
        ),
    ],
)
def test_remote_that_cannot_be_used_ends_with_what_to_correct(
    pod: Pod, remote: Remote, changes: dict[str, str | None], want: Outcome, want_message: str
):
    server = remote.url.rpartition("/")[0]
    given = {key: value and value.format(server=server) for key, value in changes.items()}

    pod.run(make_order(remote.url, WORK, repository=repository(remote.url, **given)))

    assert pod.result.outcome is want, pod.log
    assert pod.result.message == want_message.format(url=remote.url, server=server)


def test_wrong_password_is_a_matter_of_credentials_and_is_nowhere_to_be_read(
    pod: Pod, remote: Remote
):
    pod.give_credentials(USERNAME, "not-the-password")

    pod.run(make_order(remote.url, WORK))

    assert pod.result.outcome is Outcome.AUTH, pod.log
    assert pod.result.message == (
        f"The repository {remote.url} denies access with the credentials of Secret "
        '"git-credentials" in namespace "team-a"; correct that Secret.'
    )
    assert "not-the-password" not in pod.log + str(pod.report)


@pytest.mark.parametrize(("kept", "missing"), [("password", "username"), ("username", "password")])
def test_secret_without_a_key_is_named_with_the_key(
    pod: Pod, remote: Remote, kept: str, missing: str
):
    (pod.root / "afresh/secrets/git" / missing).unlink()

    pod.run(make_order(remote.url, WORK))

    assert pod.result.outcome is Outcome.CONFIG, pod.log
    assert pod.result.message == (
        f'Secret "git-credentials" in namespace "team-a" has no key "{missing}"; '
        "create it or correct spec.repository.secretName of the WorkPackage."
    )


def test_ssh_without_a_key_is_named_with_the_key(pod: Pod):
    pod.run(make_order("git@git.example.com:team/api.git", WORK))

    assert pod.result.outcome is Outcome.CONFIG, pod.log
    assert 'has no key "ssh-privatekey"' in pod.result.message


def test_server_that_refuses_the_branch_is_a_matter_of_configuration(pod: Pod, remote: Remote):
    hook = remote.directory / "hooks/pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho this branch is protected >&2; exit 1\n")
    hook.chmod(0o755)

    pod.run(make_order(remote.url, WORK))

    assert pod.result.outcome is Outcome.CONFIG, pod.log
    assert pod.result.message == (
        f'The server of {remote.url} refuses to update branch "afresh/demo"; '
        "allow it, or recreate the WorkPackage with another spec.repository.branch. Details: "
        "The verified work of T001 could not be kept either and is lost: The server of "
        f"{remote.url} refuses refs/afresh/team-a/demo/T001."
    )
    assert "this branch is protected" in pod.log


def test_branch_whose_name_is_a_folder_of_another_is_a_matter_of_configuration(
    pod: Pod, remote: Remote
):
    remote.commit("afresh", {}, base="main")

    pod.run(make_order(remote.url, WORK))

    assert pod.result.outcome is Outcome.CONFIG, pod.log

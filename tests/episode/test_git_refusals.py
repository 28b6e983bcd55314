"""A push that the server declines: its class, the remedy, and nothing left on the branch."""

import pytest

from afresh.contract.words import Outcome
from tests.episode.lone_runner import give_hook
from tests.episode.pod import Pod, make_order
from tests.episode.servers import Remote, git

BRANCH = "afresh/demo"
WORK = "echo hello > hello.txt"
# More than a push may be, and nothing that could be packed smaller.
KEPT = "The verified work of T001 is kept on refs/afresh/team-a/demo/T001."
MUCH = "head -c 300000 /dev/urandom > big.bin"


def rejecting(remote: Remote, words: str) -> None:
    """Have the server decline every push to a branch, with these words."""
    give_hook(remote, f'case "$1" in refs/heads/*) echo "{words}" >&2; exit 1;; esac')


@pytest.mark.parametrize(
    ("words", "want", "want_message"),
    [
        pytest.param(
            "GitLab: You are not allowed to push code to protected branches on this project.",
            Outcome.CONFIG,
            'The server of {url} refuses to update branch "afresh/demo"; '
            "allow it, or recreate the WorkPackage with another spec.repository.branch.",
            id="a protected branch",
        ),
        pytest.param(
            "Run the formatter first.",
            Outcome.CONFIG,
            'A rule of the server of {url} declines the push to branch "afresh/demo"; '
            "allow it there, or follow the rule that the runner's log names.",
            id="a rule of the server's own",
        ),
        pytest.param(
            "Commits must have verified signatures.",
            Outcome.CONFIG,
            'The server of {url} accepts only signed commits on branch "afresh/demo"; '
            "name a key that it knows in spec.repository.signing of the WorkPackage.",
            id="a commit without a signature",
        ),
        pytest.param(
            "Author 'afresh@localhost' is not a member of team",
            Outcome.CONFIG,
            'The server of {url} refuses the author of the commits on branch "afresh/demo"; '
            "correct spec.repository.author of the WorkPackage.",
            id="an author that the server does not know",
        ),
        pytest.param(
            "Your push has been rejected, because this repository has exceeded its size limit.",
            Outcome.CONFIG,
            "The repository {url} has reached its server's quota; "
            "free some space there or raise the quota.",
            id="the repository's quota",
        ),
        pytest.param(
            "File big.bin is 120.00 MB; this exceeds the file size limit of 100.00 MB",
            Outcome.AGENT_ERROR,
            "The server of {url} refuses a push or a file of this size; exclude large files in "
            "spec.guidance of the WorkPackage, or raise the server's limit.",
            id="a file beyond the server's limit",
        ),
        pytest.param(
            "write error: No space left on device",
            Outcome.INFRASTRUCTURE,
            "The repository {url} cannot be reached; "
            "check spec.repository.url of the WorkPackage and the network.",
            id="a server whose disk is full",
        ),
    ],
)
def test_push_that_the_server_declines_ends_with_the_remedy_and_leaves_no_branch(
    pod: Pod, remote: Remote, words: str, want: Outcome, want_message: str
):
    rejecting(remote, words)

    pod.run(make_order(remote.url, WORK))

    kept = f" Details: {KEPT}" if want is not Outcome.AGENT_ERROR else ""
    assert pod.result.outcome is want, pod.log
    assert pod.result.message == want_message.format(url=remote.url) + kept
    assert words in pod.log
    assert pod.result.commit is None
    assert remote.head(BRANCH) is None


def test_push_beyond_the_limit_of_a_real_server_counts_as_the_agents_failure(
    pod: Pod, remote: Remote
):
    before = remote.commit(BRANCH, {"old.txt": "x"}, base="main")
    git(remote.directory, "config", "receive.maxInputSize", "100000")

    pod.run(make_order(remote.url, MUCH))

    assert pod.result.outcome is Outcome.AGENT_ERROR, pod.log
    assert "refuses a push or a file of this size" in pod.result.message
    assert remote.head(BRANCH) == before


def test_key_that_may_only_read_leaves_the_branch_as_it_was(pod: Pod, remote: Remote):
    before = remote.commit(BRANCH, {"old.txt": "x"}, base="main")
    git(remote.directory, "config", "http.receivepack", "false")

    pod.run(make_order(remote.url, WORK))

    assert pod.result.outcome is Outcome.AUTH, pod.log
    assert remote.head(BRANCH) == before

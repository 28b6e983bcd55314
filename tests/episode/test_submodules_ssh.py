"""Submodules behind SSH: a real sshd on loopback, and the key of the repository's own Secret."""

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from afresh.contract.order import Order, Submodule
from afresh.contract.words import Outcome
from afresh.episode.git.overlay import tree_to_check_out
from afresh.episode.stopped import SubtaskStopped
from tests.episode.linking import PLACE, link, linked
from tests.episode.lone_runner import BRANCH, LoneRunner, over_ssh
from tests.episode.pod import Pod, make_agent
from tests.episode.servers import Remote, git
from tests.episode.ssh_server import Sshd

MISSING = "0123456789abcdef0123456789abcdef01234567"


@dataclass(frozen=True)
class Places:
    """A repository and its submodule, both behind one sshd that knows one key."""

    remote: Remote
    library: Remote
    sshd: Sshd
    folder: Path

    @property
    def url(self) -> str:
        """The submodule's address."""
        return f"ssh://{self.sshd.user}@127.0.0.1:{self.sshd.port}{self.library.directory}"

    def order(self, url: str = "") -> tuple[Order, dict[str, str]]:
        """An Order that lists the submodule, and its Secret."""
        order, secret = over_ssh(self.remote, self.sshd)
        listed = (Submodule(path=PLACE, url=url or self.url),)
        return replace(order, repository=replace(order.repository, submodules=listed)), secret

    def tree(self, url: str = "") -> str:
        """The files below the submodule that the newest commit shows. Raises Ended."""
        runner = LoneRunner.create(self.folder / "runner", *self.order(url))
        tree = tree_to_check_out(runner.git, runner.order, runner.fetch().head)
        return runner.git.text("ls-tree", "-r", "--name-only", tree, "--", f"{PLACE}/")


@pytest.fixture
def places(remote: Remote, library: Remote, sshd: Sshd, tmp_path: Path) -> Places:
    return Places(remote, library, sshd, tmp_path)


def test_submodule_by_ssh_is_shown_with_the_key_of_the_repository_and_its_link_stays(
    pod: Pod, places: Places
) -> None:
    remote, (order, secret) = places.remote, places.order()
    shutil.rmtree(pod.root / "afresh/secrets/git")
    for name, value in secret.items():
        pod.put(f"/afresh/secrets/git/{name}", value)

    pod.run(replace(order, agent=make_agent(f"cp {PLACE}/sub/deep.txt seen.txt")))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log
    assert remote.file(BRANCH, "seen.txt") == "deep"
    assert linked(remote) == linked(remote, "main") == f"160000 {places.library.head('main')}"


def test_submodule_at_an_old_commit_is_had_where_only_what_refs_name_can_be_asked_for(
    places: Places,
) -> None:
    old = git(places.library.directory, "rev-parse", "main~")
    link(places.remote, PLACE, old, places.library.url)

    assert places.tree() == f"{PLACE}/old.txt"


@pytest.mark.parametrize(
    ("right", "wrong", "want", "words"),
    [
        pytest.param(
            *("ssh://", "ssh://ghost-", Outcome.AUTH, 'it denies access with Secret "git"'),
            id="the key is not known there",
        ),
        pytest.param(
            *("127.0.0.1", "localhost", Outcome.CONFIG, "its server's identity cannot be verified"),
            id="the host is not among the known ones",
        ),
        pytest.param(
            *("library", "nothing", Outcome.CONFIG, "there is no such repository"),
            id="nothing is there",
        ),
    ],
)
def test_submodule_by_ssh_that_cannot_be_had_says_why(
    right: str, wrong: str, want: Outcome, words: str, places: Places
) -> None:
    with pytest.raises(SubtaskStopped, match=words) as caught:
        places.tree(places.url.replace(right, wrong))

    assert caught.value.outcome is want


def test_commit_that_the_server_lacks_is_named(places: Places) -> None:
    link(places.remote, PLACE, MISSING, places.library.url)

    with pytest.raises(
        SubtaskStopped, match=f"its server does not provide commit {MISSING[:12]}"
    ) as caught:
        places.tree()

    assert caught.value.outcome is Outcome.CONFIG

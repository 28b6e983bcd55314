"""How a Git LFS server is reached: addresses by SSH, and who is told our credential."""

from dataclasses import replace
from pathlib import Path

import pytest

from afresh.contract.words import Outcome
from afresh.episode.git.lfs.access import Action, LfsAccess, LfsRefusalError, ssh_parts
from afresh.episode.git.overlay import tree_to_check_out
from afresh.episode.stopped import SubtaskStopped
from tests.episode.lone_runner import LoneRunner, over_ssh
from tests.episode.servers import Remote
from tests.episode.ssh_server import Sshd

POINTER = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 5\n"
ENDPOINT = Action(href="https://git.example.com/a.git/info/lfs", header={"Authorization": "ours"})


@pytest.mark.parametrize(
    ("url", "want"),
    [
        ("git@host.example:a/b.git", ("git@host.example", "a/b.git", ())),
        ("git@[::1]:a/b.git", ("git@::1", "a/b.git", ())),
        ("ssh://git@host:22/a.git", ("git@host", "/a.git", ("-p", "22"))),
        ("ssh://host/~me/a.git", ("host", "~me/a.git", ())),
    ],
)
def test_address_by_ssh_is_cut_as_git_does(url: str, want: tuple[object, ...]) -> None:
    assert ssh_parts(url) == want


@pytest.mark.parametrize(
    "said", ["a text", [], {"href": "file:///etc/passwd"}, {"href": "http://[bad"}, {}]
)
def test_transfer_that_makes_no_sense_is_a_refusal_and_opens_nothing(
    said: object, runner: LoneRunner
) -> None:
    action = ENDPOINT.action(said, is_done=False)

    if action is None:
        return
    runner.git.create()
    with pytest.raises(LfsRefusalError):
        LfsAccess.of(runner.git, runner.order).send(action)


@pytest.mark.parametrize(
    ("said", "is_done", "want"),
    [
        pytest.param({"href": "https://git.example.com/o"}, False, "ours", id="the same host"),
        pytest.param({"href": "https://store.example.com/o"}, False, None, id="another host"),
        pytest.param({"href": "http://git.example.com/o"}, False, None, id="without encryption"),
        pytest.param({"href": "https://git.example.com:8443/o"}, False, None, id="another port"),
        pytest.param({"href": "https://git.example.com/o"}, True, None, id="already signed"),
        pytest.param(
            {"href": "https://store.example.com/o", "header": {"Authorization": "theirs"}},
            False,
            "theirs",
            id="a header of the server's",
        ),
    ],
)
def test_transfer_to_an_address_carries_our_credential_to_our_own_host_alone(
    said: dict[str, object], is_done: bool, want: str | None
) -> None:
    action = ENDPOINT.action(said, is_done=is_done)

    assert action
    assert action.header.get("Authorization") == want


def test_server_by_ssh_without_lfs_is_said_to_speak_none(
    tmp_path: Path, remote: Remote, sshd: Sshd
) -> None:
    remote.commit("main", {".gitattributes": "*.bin filter=lfs\n", "logo.bin": POINTER})
    order, secret = over_ssh(remote, sshd)
    order = replace(order, repository=replace(order.repository, lfs=True))
    runner = LoneRunner.create(tmp_path / "runner", order, secret)

    with pytest.raises(SubtaskStopped, match="does not offer Git LFS") as caught:
        tree_to_check_out(runner.git, order, runner.fetch().head)

    assert caught.value.outcome is Outcome.CONFIG

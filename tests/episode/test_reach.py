"""Whether anybody listens at a repository's address."""

import socket
from collections.abc import Iterator

import pytest

from afresh.episode.git.reach import can_connect

SCHEMES = ["http://{}/x.git", "https://user@{}/x.git", "ssh://git@{}/x.git"]


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as made:
        yield made


@pytest.mark.parametrize("url", SCHEMES)
def test_address_where_somebody_listens_can_be_connected_to(listener: socket.socket, url: str):
    assert can_connect(url.format(f"127.0.0.1:{listener.getsockname()[1]}"))


@pytest.mark.parametrize("url", SCHEMES)
def test_address_that_never_answers_is_given_up(listener: socket.socket, url: str):
    address = listener.getsockname()
    waiting = []
    # The kernel drops what comes when nobody accepts and the queue is full.
    for _ in range(3):
        client = socket.socket()
        client.setblocking(False)
        client.connect_ex(address)
        waiting.append(client)

    assert not can_connect(url.format(f"127.0.0.1:{address[1]}"), seconds=0.2)
    for client in waiting:
        client.close()


@pytest.mark.parametrize(
    "url",
    ["git@nobody.invalid:x.git", "https://nobody.invalid/x.git", f"https://{'a' * 70}/x.git"],
)
def test_name_that_nobody_has_cannot_be_connected_to(url: str):
    assert not can_connect(url)


@pytest.mark.parametrize("url", ["file:///etc", "/etc/x.git", "http://[::1/x.git"])
def test_address_that_git_refuses_by_itself_is_left_to_git(url: str):
    assert can_connect(url, seconds=0.2)

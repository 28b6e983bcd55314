"""The git server on the wire: what git itself seldom sends, and what nobody should."""

import base64
import gzip
import socket
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.server_process import TIMEOUT_SECONDS, Answer, Server, running
from tools.gitserver.tests.git_client import PASSWORD, USER, Checkout, repository_url

CREDENTIALS = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
AUTHORIZED = {"Authorization": f"Basic {CREDENTIALS}"}
UPLOAD_PACK = "/ledger.git/git-upload-pack"
REFS = "/ledger.git/info/refs?service=git-upload-pack"

# Protocol version 2: list the refs under refs/heads/.
LS_REFS = b"0014command=ls-refs\n0001001bref-prefix refs/heads/\n0000"


def list_refs(server: Server, body: bytes | Iterator[bytes], **headers: str) -> Answer:
    wanted = {"Git-Protocol": "version=2", "Content-Type": "application/x-git-upload-pack-request"}
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    return server.ask("POST", UPLOAD_PACK, body, AUTHORIZED | wanted | names)


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        pytest.param(LS_REFS, {}, id="a plain body"),
        pytest.param(gzip.compress(LS_REFS), {"Content_Encoding": "gzip"}, id="a gzip body"),
        pytest.param([LS_REFS[:9], LS_REFS[9:]], {}, id="a body in chunks"),
        pytest.param(
            [gzip.compress(LS_REFS)[:5], gzip.compress(LS_REFS)[5:]],
            {"Content_Encoding": "gzip"},
            id="a gzip body in chunks",
        ),
    ],
)
def test_a_request_body_in_any_encoding_is_understood(
    git_server: Server, body: bytes | list[bytes], headers: dict[str, str]
) -> None:
    answer = list_refs(git_server, body if isinstance(body, bytes) else iter(body), **headers)

    assert answer.status == 200
    assert answer.body.endswith(b" refs/heads/main\n0000")


@pytest.mark.parametrize(
    ("headers", "want"),
    [
        pytest.param({"Git-Protocol": "version=2"}, True, id="a client that asks for version 2"),
        pytest.param({}, False, id="a client that does not"),
    ],
)
def test_the_protocol_version_is_the_client_s_choice(
    git_server: Server, headers: dict[str, str], want: bool
) -> None:
    answer = git_server.ask("GET", REFS, headers=AUTHORIZED | headers)

    assert (b"version 2" in answer.body) == want
    assert answer.headers["content-type"] == "application/x-git-upload-pack-advertisement"


@pytest.mark.parametrize(
    "authorization",
    [
        pytest.param(None, id="no credentials"),
        pytest.param("", id="an empty header"),
        pytest.param("Basic", id="no value"),
        pytest.param("Basic !!!", id="no base64"),
        pytest.param("Basic " + base64.b64encode(b"robot").decode(), id="no password"),
        pytest.param("Basic " + base64.b64encode(b"robot:wrong").decode(), id="a wrong password"),
        pytest.param(
            "Basic " + base64.b64encode(f"other:{PASSWORD}".encode()).decode(), id="a wrong user"
        ),
        pytest.param(f"Bearer {CREDENTIALS}", id="another scheme"),
    ],
)
@pytest.mark.parametrize(("method", "path"), [("GET", REFS), ("POST", UPLOAD_PACK), ("GET", "/")])
def test_a_request_without_good_credentials_is_asked_for_them(
    git_server: Server, authorization: str | None, method: str, path: str
) -> None:
    headers = {} if authorization is None else {"Authorization": authorization}

    answer = git_server.ask(method, path, headers=headers)

    assert answer.status == 401
    assert answer.headers["www-authenticate"] == 'Basic realm="git"'


def test_an_empty_password_file_lets_nobody_in(git_server: Server, tmp_path: Path) -> None:
    (tmp_path / "password").write_text("\n")
    nothing = base64.b64encode(f"{USER}:".encode()).decode()

    answer = git_server.ask("GET", REFS, headers={"Authorization": f"Basic {nothing}"})

    assert answer.status == 401


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/../secret.git/info/refs?service=git-upload-pack"),
        ("GET", "/ledger.git/../secret.git/info/refs?service=git-upload-pack"),
        ("GET", "/%2e%2e/secret.git/info/refs?service=git-upload-pack"),
        ("GET", "/..%2fsecret.git/info/refs?service=git-upload-pack"),
        ("GET", "//secret.git/info/refs?service=git-upload-pack"),
        ("GET", "/.hidden.git/info/refs?service=git-upload-pack"),
        ("GET", "/link.git/info/refs?service=git-upload-pack"),
        ("GET", "/other.git/info/refs?service=git-upload-pack"),
        ("GET", "/ledger.git/info/refs?service=git-upload-pack%0a"),
        ("GET", "/ledger.git/info/refs?service=git-upload-archive"),
        ("GET", "/ledger.git/info/refs"),
        ("GET", "/ledger.git/config"),
        ("GET", "/ledger.git/HEAD"),
        ("POST", "/secret.git/git-receive-pack/../../ledger.git/git-upload-pack"),
        ("POST", REFS),
        ("GET", UPLOAD_PACK),
        ("PUT", "/ledger.git/config"),
    ],
)
def test_a_path_beside_the_smart_calls_is_not_served(
    git_server: Server, tmp_path: Path, method: str, path: str
) -> None:
    root = Checkout(tmp_path / "repositories")
    for copy in ("../secret.git", ".hidden.git"):
        root.git("clone", "--quiet", "--bare", "ledger.git", copy)
    (root.path / "link.git").symlink_to(tmp_path / "secret.git")

    answer = git_server.ask(method, path, headers=AUTHORIZED)

    assert answer.status == (501 if method == "PUT" else 404)
    assert b"refs/heads" not in answer.body


@pytest.mark.parametrize(
    ("credentials", "want"),
    [
        pytest.param(CREDENTIALS, b"HTTP/1.1 100 Continue", id="good credentials"),
        pytest.param("bm8=", b"HTTP/1.1 401 Unauthorized", id="bad credentials"),
    ],
)
def test_a_client_that_asks_before_it_sends_hears_whether_it_may(
    git_server: Server, credentials: str, want: bytes
) -> None:
    head = (
        f"POST {UPLOAD_PACK} HTTP/1.1\r\nHost: git\r\nAuthorization: Basic {credentials}\r\n"
        f"Content-Length: 5000000\r\nExpect: 100-continue\r\n\r\n"
    )
    with closing(connect(git_server)) as client:
        client.sendall(head.encode())
        with client.makefile("rb") as answer:
            assert answer.readline().rstrip() == want


@pytest.mark.parametrize(
    ("framing", "want"),
    [
        pytest.param("Content-Length: -1", b"HTTP/1.1 400 Bad Request", id="a negative length"),
        pytest.param("Content-Length: 0x10", b"HTTP/1.1 400 Bad Request", id="no decimal length"),
        pytest.param("Transfer-Encoding: gzip", b"HTTP/1.1 400 Bad Request", id="no chunks"),
    ],
)
def test_a_body_of_unknown_length_is_refused(git_server: Server, framing: str, want: bytes) -> None:
    head = (
        f"POST {UPLOAD_PACK} HTTP/1.1\r\nHost: git\r\nAuthorization: Basic {CREDENTIALS}\r\n"
        f"{framing}\r\n\r\n"
    )
    with closing(connect(git_server)) as client:
        client.sendall(head.encode())
        with client.makefile("rb") as answer:
            assert answer.readline().rstrip() == want


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"400\r\n0014command=ls-refs\n", id="a chunk that ends early"),
        pytest.param(b"zz\r\n", id="a chunk without a size"),
        pytest.param(b"2\r\n0000\r\n0\r\n\r\n", id="a chunk longer than it says"),
    ],
)
def test_a_client_that_breaks_off_leaves_the_server_as_it_was(
    git_server: Server, tmp_path: Path, body: bytes
) -> None:
    head = (
        f"POST /ledger.git/git-receive-pack HTTP/1.1\r\nHost: git\r\n"
        f"Authorization: Basic {CREDENTIALS}\r\nTransfer-Encoding: chunked\r\n"
        f"Content-Type: application/x-git-receive-pack-request\r\n\r\n"
    )
    with closing(connect(git_server)) as client:
        client.sendall(head.encode() + body)
        client.shutdown(socket.SHUT_WR)
        with client.makefile("rb") as answer:
            answer.read()

    found = Checkout(tmp_path).git("ls-remote", repository_url(git_server), "refs/heads/*")

    assert found.endswith("refs/heads/main")


def test_a_backend_does_not_wait_for_the_rest_of_a_body_that_was_cut_off(
    git_server: Server,
) -> None:
    head = (
        f"POST /ledger.git/git-receive-pack HTTP/1.1\r\nHost: git\r\n"
        f"Authorization: Basic {CREDENTIALS}\r\nContent-Length: 5000\r\n"
        f"Content-Type: application/x-git-receive-pack-request\r\n\r\n"
    )
    with closing(connect(git_server)) as client:
        client.sendall(head.encode() + b"0014")
        client.shutdown(socket.SHUT_WR)
        with client.makefile("rb") as answer:
            assert not answer.read().endswith(b"0000")  # its end comes with the backend's


def test_the_health_check_needs_no_credentials(git_server: Server) -> None:
    assert git_server.ask("GET", "/healthz").status == 200


def test_a_log_line_holds_no_control_characters(git_arguments: tuple[str, ...]) -> None:
    with (
        running("tools.gitserver.git_server", *git_arguments) as server,
        closing(connect(server)) as client,
    ):
        client.sendall(b"GET /\x1b[2Jgone HTTP/1.1\r\nHost: git\r\n\r\n")
        with client.makefile("rb") as answer:
            answer.readline()

    assert "GET /?[2Jgone 401" in "".join(server.log)


def connect(server: Server) -> socket.socket:
    return socket.create_connection((server.host, server.port), timeout=TIMEOUT_SECONDS)

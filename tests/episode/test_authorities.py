"""What agent and verify trust where the class has a caBundle: public authorities and its own."""

import os
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from afresh.contract.order import Verify
from afresh.contract.words import Outcome
from afresh.episode.authorities import share_authorities
from afresh.episode.paths import Paths
from tests.episode.authority import server_context
from tests.episode.pod import Pod, make_order, make_task
from tests.episode.servers import Remote
from tests.programs import node_folder

PROGRAMS = {
    "Python": "python3 -c \"import urllib.request as r; r.urlopen('{url}')\"",
    "Node.js": "node -e \"fetch('{url}').then(r => r.text()).catch(e => process.exit(3))\"",
    "git": "git ls-remote {url}/no-repository 2>&1 | grep 'not found'",
    "curl": "curl --silent --fail {url}",
}


class Greeting(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        found = "no-repository" not in self.path
        self.send_response(200 if found else 404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def index(authority: Path) -> Iterator[str]:
    """A package index that only the class's authority vouches for."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Greeting) as server:
        server.socket = server_context(authority).wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"https://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


def give_bundle(pod: Pod, authority: Path) -> None:
    """What the kubelet makes of the ConfigMap."""
    pod.put("/afresh/ca/ca.crt", (authority / "bundle/ca.crt").read_text())


@pytest.mark.parametrize("name", PROGRAMS)
def test_agent_and_verify_trust_the_authorities_of_the_class(
    pod: Pod, remote: Remote, authority: Path, index: str, name: str
):
    ask = PROGRAMS[name].format(url=index)
    pod.image_environment = {"PATH": f"{node_folder()}:{os.environ['PATH']}"}
    give_bundle(pod, authority)
    task = make_task(verify=Verify(command=("sh", "-c", ask)))

    pod.run(make_order(remote.url, f"{ask} && echo > hello.txt", tasks=(task,)))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log


@pytest.mark.parametrize("name", PROGRAMS)
def test_without_a_bundle_a_stranger_is_not_trusted(
    pod: Pod, remote: Remote, index: str, name: str
):
    ask = PROGRAMS[name].format(url=index)
    pod.image_environment = {"PATH": f"{node_folder()}:{os.environ['PATH']}"}
    trust = 'test -z "${SSL_CERT_FILE+set}" || exit 9'

    pod.run(make_order(remote.url, f"{trust}; {ask} && exit 9; echo > hello.txt"))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log


def test_what_the_class_sets_itself_stays(pod: Pod, remote: Remote, authority: Path):
    give_bundle(pod, authority)
    pod.image_environment = {"PATH": os.environ["PATH"], "SSL_CERT_FILE": "/etc/own.pem"}

    pod.run(make_order(remote.url, 'test "$SSL_CERT_FILE" = /etc/own.pem && echo > hello.txt'))

    assert pod.result.outcome is Outcome.SUCCESS, pod.log


def test_bundle_holds_the_public_authorities_too_and_nobody_may_write_it(
    tmp_path: Path, authority: Path
):
    paths = Paths.under(tmp_path)
    paths.authorities.mkdir(parents=True)
    own = (authority / "bundle/ca.crt").read_bytes()
    (paths.authorities / "ca.crt").write_bytes(own)
    public = tmp_path / "public.crt"
    public.write_text("-----BEGIN CERTIFICATE-----\npublic\n-----END CERTIFICATE-----")

    share_authorities(paths, public)

    for file in (paths.agent_authorities, paths.verify_authorities):
        assert file.read_bytes() == public.read_bytes() + b"\n" + own
        assert file.stat().st_mode & 0o222 == 0


def test_config_map_that_is_missing_leaves_no_bundle(tmp_path: Path):
    paths = Paths.under(tmp_path)
    paths.authorities.mkdir(parents=True)

    share_authorities(paths)

    assert not paths.agent_authorities.exists()

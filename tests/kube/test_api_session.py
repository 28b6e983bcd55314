"""Sessions of commands that read once: which way they connect, and what a bad answer means."""

import ssl
from pathlib import Path
from typing import Any

import pytest
import yaml

from afresh.kube.api_request import ApiRequest
from afresh.kube.api_session import ApiSession
from afresh.kube.client_session import ClientSession
from afresh.kube.direct_session import DirectSession
from afresh.kube.errors import ConfigurationError, NotFoundError, RefusedError, UnavailableError
from afresh.kube.opening import open_session
from afresh.kube.plain_access import PlainAccess, find_plain_access
from afresh.kube.resources import WORK_PACKAGES
from tests.kube.answering_server import server


def direct(port: int, *, seconds: float = 60, tries: int = 2, path: str = "") -> DirectSession:
    access = PlainAccess(
        host="127.0.0.1", port=port, path=path, namespace="team-a", tls=None, token="secret-token"
    )
    return DirectSession(access, seconds, tries)


def page(names: str, more: str = "") -> dict[str, Any]:
    items = [{"metadata": {"name": name}} for name in names]
    return {
        "kind": "WorkPackageList", "apiVersion": "afresh.dev/v1alpha1",
        "metadata": {"continue": more}, "items": items,
    }  # fmt: skip


def test_a_list_of_several_pages_is_read_to_its_end_over_one_connection():
    with server([(200, page("ab", "next&page")), (200, page("c"))]) as (port, asked):
        session = direct(port, path="/k8s/cluster")
        found = session.list_items(WORK_PACKAGES, "team-a", labelSelector="team in (a,b)")
        session.close()

    base = "/k8s/cluster/apis/afresh.dev/v1alpha1/namespaces/team-a/workpackages"
    query = "?labelSelector=team+in+%28a%2Cb%29&limit=500"
    assert [item["metadata"]["name"] for item in found] == ["a", "b", "c"]
    assert {(item["apiVersion"], item["kind"]) for item in found} == {
        ("afresh.dev/v1alpha1", "WorkPackage")
    }
    assert asked == [
        (f"{base}{query}", "Bearer secret-token", ""),
        (f"{base}{query}&continue=next%26page", "Bearer secret-token", ""),
    ]


@pytest.mark.parametrize(
    "first",
    [
        pytest.param((503, {"message": "starting"}), id="a server that is starting"),
        pytest.param((0, None), id="a connection that is lost"),
        pytest.param((200, b"<html>"), id="an answer that is no JSON"),
    ],
)
def test_a_request_without_a_good_answer_is_made_again(first: tuple[int, Any]):
    with server([first, (200, {"gitVersion": "v1.34.0"})]) as (port, asked):
        session = direct(port)
        answer = session.ask(ApiRequest(path="/version"))
        session.close()

    assert answer == {"gitVersion": "v1.34.0"}
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("answer", "want"),
    [
        pytest.param((404, {"message": "no such thing"}), NotFoundError, id="404"),
        pytest.param((403, {"message": "you may not"}), RefusedError, id="403"),
    ],
)
def test_a_refusal_is_not_repeated(answer: tuple[int, Any], want: type[Exception]):
    with server([answer]) as (port, asked):
        session = direct(port)
        with pytest.raises(want, match=answer[1]["message"]):
            session.ask(ApiRequest(method="POST", path="/x", body={"a": 1}))
        session.close()

    assert asked == [("/x", "Bearer secret-token", '{"a": 1}')]


def test_a_server_that_does_not_listen_is_unavailable_and_named():
    with server([]) as (port, _):
        pass
    with pytest.raises(UnavailableError, match=f"127.0.0.1:{port}/version: "):
        direct(port, tries=1).ask(ApiRequest(path="/version"))


def test_a_session_whose_time_is_over_asks_nothing():
    with server([]) as (port, asked):
        session = direct(port, seconds=0)
        with pytest.raises(TimeoutError):
            session.ask(ApiRequest(path="/version"))

    assert asked == []


def kubeconfig(folder: Path, cluster: dict[str, Any], user: dict[str, Any] | None) -> str:
    config = {
        "apiVersion": "v1", "kind": "Config", "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "c", "user": "u",
                                                  "namespace": "team-b"}}],
        "clusters": [{"name": "c", "cluster": cluster}],
        "users": [{"name": "u", "user": user}],
    }  # fmt: skip
    path = folder / "config"
    path.write_text(yaml.safe_dump(config))
    return str(path)


def test_a_plain_kubeconfig_is_read_without_the_kubernetes_client(tmp_path: Path):
    path = kubeconfig(tmp_path, {"server": "http://127.0.0.1:1234/k8s/"}, {"token": "t"})

    assert find_plain_access(path, None) == PlainAccess(
        host="127.0.0.1", port=1234, path="/k8s", namespace="team-b", tls=None, token="t"
    )


def test_tls_is_verified_unless_the_kubeconfig_says_otherwise(tmp_path: Path):
    strict = find_plain_access(kubeconfig(tmp_path, {"server": "https://a"}, {}), None)
    cluster = {"server": "https://a", "insecure-skip-tls-verify": True}
    loose = find_plain_access(kubeconfig(tmp_path, cluster, {}), None)

    assert strict is not None
    assert loose is not None
    assert (strict.port, strict.tls and strict.tls.verify_mode) == (443, ssl.CERT_REQUIRED)
    assert strict.tls
    assert strict.tls.check_hostname
    assert loose.tls
    assert loose.tls.verify_mode == ssl.CERT_NONE


PLAIN = {"server": "http://127.0.0.1:1234"}


@pytest.mark.parametrize(
    ("cluster", "user"),
    [
        pytest.param(PLAIN, {"exec": {"command": "login"}}, id="a program gives credentials"),
        pytest.param(PLAIN, {"token": "t", "as": "admin"}, id="impersonation"),
        pytest.param(PLAIN, {"username": "u", "password": "p"}, id="a password"),
        pytest.param({**PLAIN, "proxy-url": "http://p"}, {}, id="a proxy"),
        pytest.param({**PLAIN, "tls-server-name": "x"}, {}, id="another name in the certificate"),
        pytest.param({}, {}, id="no server"),
        pytest.param({"server": "https://a", "certificate-authority": "absent"}, {},
                     id="a file that is not there"),
        pytest.param({"server": "https://a"}, {"client-certificate-data": "eA=="},
                     id="a certificate without its key"),
    ],
)  # fmt: skip
def test_what_a_plain_kubeconfig_does_not_have_is_left_to_the_kubernetes_client(
    cluster: dict[str, Any], user: dict[str, Any], tmp_path: Path
):
    assert find_plain_access(kubeconfig(tmp_path, cluster, user), None) is None


def test_several_kubeconfigs_and_a_proxy_of_the_environment_are_left_to_the_kubernetes_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    path = kubeconfig(tmp_path, {"server": "http://example.com"}, {})
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "other.example.com")
    proxied = find_plain_access(path, None)
    monkeypatch.setenv("no_proxy", "example.com")

    assert proxied is None
    assert find_plain_access(path, None) is not None
    assert find_plain_access(f"{path}:{path}", None) is None


def asked_once(session: ApiSession) -> Any:
    try:
        return session.ask(ApiRequest(path="/version"))
    finally:
        session.close()


def test_both_ways_to_ask_give_the_same_answer(tmp_path: Path):
    answer = {"gitVersion": "v1.34.0"}
    with server([(200, answer), (200, answer)]) as (port, asked):
        cluster = {"server": f"http://127.0.0.1:{port}"}
        plain = open_session(kubeconfig(tmp_path, cluster, {"token": "t"}), None, 60)
        first = asked_once(plain)
        proxied = {**cluster, "tls-server-name": "x"}
        full = open_session(kubeconfig(tmp_path, proxied, {"token": "t"}), None, 60)
        second = asked_once(full)

    assert (type(plain), type(full)) == (DirectSession, ClientSession)
    assert (plain.namespace, full.namespace) == ("team-b", "team-b")
    assert first == second == answer
    assert asked == [("/version", "Bearer t", "")] * 2


def test_no_kubeconfig_is_reported_by_the_kubernetes_client(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)

    with pytest.raises(ConfigurationError, match="There is no kubeconfig at /nonexistent"):
        open_session("/nonexistent", None, 60)

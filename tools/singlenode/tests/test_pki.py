import json
import socket
import ssl
import threading
from pathlib import Path

import pytest

from tools.singlenode import components, pki
from tools.singlenode.errors import ClusterError
from tools.singlenode.pki import Certificate

_SERVER = Certificate(name="server", common_name="server", server_names=("IP:127.0.0.1",))
_CLIENT = Certificate(name="client", common_name="someone", organization="some:group")


@pytest.fixture(scope="module")
def keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("pki")
    pki.create_authority(directory)
    pki.create_certificate(directory, _SERVER)
    pki.create_certificate(directory, _CLIENT)
    return directory


def _handshake(keys: Path, *, client: str, server: str) -> tuple[tuple[str, str], ...]:
    """Let a strict client and a strict server meet; return the client's subject as seen there."""
    listening = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(keys / "ca.crt"))
    listening.verify_mode = ssl.CERT_REQUIRED
    calling = ssl.create_default_context(cafile=str(keys / "ca.crt"))
    for context, name in ((listening, server), (calling, client)):
        context.load_cert_chain(keys / f"{name}.crt", keys / f"{name}.key")
        # What Python does from 3.13 on.
        context.verify_flags |= ssl.VERIFY_X509_STRICT
    here, there = socket.socketpair()
    with here, there:
        caller = threading.Thread(target=_call, args=(calling, there))
        caller.start()
        try:
            with listening.wrap_socket(here, server_side=True) as connection:
                peer = connection.getpeercert()
                connection.recv(1)
        finally:
            caller.join()
    assert peer is not None
    return tuple(part[0] for part in peer["subject"])  # type: ignore[misc] # typeshed: any tuple


def _call(context: ssl.SSLContext, plain: socket.socket) -> None:
    try:
        with context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            connection.send(b"x")
    except ssl.SSLError:
        plain.close()


def test_a_client_is_known_by_its_name_and_group_to_a_strict_server(keys: Path) -> None:
    subject = _handshake(keys, client="client", server="server")

    assert subject == (("organizationName", "some:group"), ("commonName", "someone"))


def test_a_server_certificate_does_not_identify_a_client(keys: Path) -> None:
    with pytest.raises(ssl.SSLError, match=r"(?i)unsuitable certificate purpose|verify failed"):
        _handshake(keys, client="server", server="server")


def test_keys_can_be_read_by_their_owner_alone(keys: Path) -> None:
    modes = {path.name: path.stat().st_mode & 0o077 for path in keys.glob("*.key")}

    assert modes == {"ca.key": 0, "sa.key": 0, "server.key": 0, "client.key": 0}


def test_a_kubeconfig_holds_everything_that_its_client_needs(keys: Path) -> None:
    config = json.loads(pki.render_kubeconfig(keys, "client", server="https://127.0.0.1:1"))

    assert config["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:1"
    assert set(config["users"][0]["user"]) == {"client-certificate-data", "client-key-data"}
    assert config["contexts"][0]["context"] == {"cluster": "afresh", "user": "client"}
    assert config["current-context"] == config["contexts"][0]["name"]


def test_a_certificate_without_an_authority_is_an_error_that_names_the_place(
    tmp_path: Path,
) -> None:
    with pytest.raises(ClusterError, match=str(tmp_path)):
        pki.create_certificate(tmp_path, _CLIENT)


def test_only_the_administrator_and_the_api_server_are_masters() -> None:
    clients = components.API_CLIENT_CERTIFICATES + components.NODE_CLIENT_CERTIFICATES
    everything = clients + components.SERVER_CERTIFICATES

    masters = {entry.name for entry in everything if entry.organization == "system:masters"}

    assert masters == {"admin", "kubelet-client"}

"""Reads the common form of a kubeconfig with few imports: one file, a certificate or a token.

Whatever else a kubeconfig can say (several files, a program that provides credentials, a proxy) is
left to `kubeconfig`, which knows all of it and owns the messages.
"""

import base64
import contextlib
import os
import ssl
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import yaml

PLAIN_CLUSTER = {
    "server", "certificate-authority", "certificate-authority-data", "insecure-skip-tls-verify",
    "extensions",
}  # fmt: skip
PLAIN_USER = {
    "client-certificate", "client-certificate-data", "client-key", "client-key-data", "token",
}  # fmt: skip
PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")
UNREADABLE = (AttributeError, KeyError, OSError, StopIteration, TypeError, ValueError)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainAccess:
    """Where the API server is, and how it is asked. Without `tls`, by plain HTTP."""

    host: str
    port: int
    path: str
    namespace: str
    tls: ssl.SSLContext | None
    token: str | None


def find_plain_access(kubeconfig: str | None, context: str | None) -> PlainAccess | None:
    """Return what a plain kubeconfig says; None where there is none, or it says more than that."""
    name = kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
    if os.pathsep in name:
        return None
    try:
        path = Path(name).expanduser()
        # libyaml's parser is many times faster, where PyYAML has it
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        config = yaml.load(path.read_bytes(), loader)  # noqa: S506  # both loaders are safe ones
        return _plain(config, context or config["current-context"], path.parent)
    except (yaml.YAMLError, RuntimeError, *UNREADABLE):
        return None


def _plain(config: dict[str, Any], context: str, folder: Path) -> PlainAccess | None:
    chosen = _named(config["contexts"], context)["context"]
    cluster = _named(config["clusters"], chosen["cluster"])["cluster"]
    user = (_named(config["users"], chosen["user"])["user"] or {}) if chosen.get("user") else {}
    if cluster.keys() - PLAIN_CLUSTER or user.keys() - PLAIN_USER:
        return None
    server = urlsplit(cluster["server"])
    tls = server.scheme == "https"
    if not server.hostname or server.username or _has_proxy(server.hostname):
        return None
    return PlainAccess(
        host=server.hostname,
        port=server.port or (443 if tls else 80),
        path=server.path.rstrip("/"),
        namespace=chosen.get("namespace") or "default",
        tls=_tls(cluster, user, folder) if tls else None,
        token=user.get("token") or None,
    )


def _named(items: list[dict[str, Any]], name: str) -> dict[str, Any]:
    return next(item for item in items if item["name"] == name)


def _has_proxy(host: str) -> bool:
    if not any(os.environ.get(name) for name in PROXY_VARIABLES):
        return False
    from urllib.request import proxy_bypass  # noqa: PLC0415  # slow to import, and seldom needed

    return not proxy_bypass(host)


def _tls(cluster: dict[str, Any], user: dict[str, Any], folder: Path) -> ssl.SSLContext:
    authority = cluster.get("certificate-authority-data")
    file = cluster.get("certificate-authority")
    context = ssl.create_default_context(
        cafile=str(folder / file) if file and not authority else None,
        cadata=base64.b64decode(authority).decode() if authority else None,
    )
    if cluster.get("insecure-skip-tls-verify"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    if user.get("client-certificate") or user.get("client-certificate-data"):
        with contextlib.ExitStack() as stack:
            context.load_cert_chain(
                _file(user, "client-certificate", folder, stack),
                _file(user, "client-key", folder, stack),
            )
    return context


def _file(user: dict[str, Any], key: str, folder: Path, stack: contextlib.ExitStack) -> str:
    """Return the path of a file with what the user's entry says, for as long as the stack lives."""
    content = user.get(f"{key}-data")
    if not content:
        return str(folder / user[key])
    # Only its owner may read it.
    with contextlib.ExitStack() as opened:
        file = opened.enter_context(tempfile.NamedTemporaryFile())
        file.write(base64.b64decode(content))
        file.flush()
        stack.push(opened.pop_all())
        return file.name

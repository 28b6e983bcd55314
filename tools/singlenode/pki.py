"""Keys, certificates and kubeconfigs of one cluster.

All are signed by one authority, which belongs to this cluster only and is removed with it.
Must not know which component uses which.
"""

import base64
import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tools.singlenode.errors import ClusterError

_DAYS = 365


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The content of a certificate. Only server certificates have server names."""

    name: str
    common_name: str
    organization: str = ""
    server_names: tuple[str, ...] = ()


def create_authority(directory: Path) -> None:
    """Write ca.key, ca.crt and the key pair sa.key, sa.pub that signs account tokens."""
    directory.mkdir(parents=True, exist_ok=True)
    config = directory / "ca.cnf"
    config.write_text(render_authority_request())
    _certify(directory, "ca", [])
    _openssl(
        directory, ["genpkey", "-algorithm", "EC", "-pkeyopt", _CURVE_OF_KEY, "-out", "sa.key"]
    )
    _openssl(directory, ["pkey", "-in", "sa.key", "-pubout", "-out", "sa.pub"])


def create_certificate(directory: Path, certificate: Certificate) -> None:
    """Write NAME.key and NAME.crt, signed by the authority in `directory`."""
    config = directory / f"{certificate.name}.cnf"
    config.write_text(render_request(certificate))
    _certify(directory, certificate.name, ["-CA", "ca.crt", "-CAkey", "ca.key"])


def render_authority_request() -> str:
    """The openssl configuration for the authority."""
    # Strict verification, as in Python 3.13, refuses an authority without these three.
    return _request(
        "commonName = afresh-cluster",
        [
            "basicConstraints = critical, CA:TRUE",
            "keyUsage = critical, keyCertSign, cRLSign",
            "subjectKeyIdentifier = hash",
        ],
    )


def render_request(certificate: Certificate) -> str:
    """The openssl configuration for a server's or a client's certificate."""
    subject = f"commonName = {certificate.common_name}"
    if certificate.organization:
        subject = f"organizationName = {certificate.organization}\n{subject}"
    usage = "serverAuth" if certificate.server_names else "clientAuth"
    extensions = [
        "basicConstraints = critical, CA:FALSE",
        "keyUsage = critical, digitalSignature",
        f"extendedKeyUsage = {usage}",
        "authorityKeyIdentifier = keyid",
    ]
    if certificate.server_names:
        extensions.append(f"subjectAltName = {', '.join(certificate.server_names)}")
    return _request(subject, extensions)


def render_kubeconfig(directory: Path, name: str, *, server: str) -> str:
    """A kubeconfig (JSON, which is also YAML) for the client NAME, with embedded certificates."""
    cluster = {"server": server, "certificate-authority-data": _encoded(directory / "ca.crt")}
    user = {
        "client-certificate-data": _encoded(directory / f"{name}.crt"),
        "client-key-data": _encoded(directory / f"{name}.key"),
    }
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "afresh", "cluster": cluster}],
            "users": [{"name": name, "user": user}],
            "contexts": [{"name": "afresh", "context": {"cluster": "afresh", "user": name}}],
            "current-context": "afresh",
        },
        indent=2,
    )


_CURVE_OF_KEY = "ec_paramgen_curve:P-256"


def _request(subject: str, extensions: list[str]) -> str:
    return "\n".join(
        [
            "[req]",
            "prompt = no",
            "distinguished_name = subject",
            "x509_extensions = extensions",
            "[subject]",
            subject,
            "[extensions]",
            *extensions,
            "",
        ]
    )


def _certify(directory: Path, name: str, signer: list[str]) -> None:
    request = ["req", "-x509", "-newkey", "ec", "-pkeyopt", _CURVE_OF_KEY, "-nodes"]
    output = ["-config", f"{name}.cnf", "-keyout", f"{name}.key", "-out", f"{name}.crt"]
    _openssl(directory, [*request, "-days", str(_DAYS), *output, *signer])


def _openssl(directory: Path, arguments: list[str]) -> None:
    result = subprocess.run(
        ["openssl", *arguments], cwd=directory, capture_output=True, text=True, check=False
    )
    if result.returncode != 0:
        why = result.stderr.strip().replace("\n", "; ")
        raise ClusterError(f"openssl {arguments[0]} failed in {directory}: {why}")


def _encoded(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()

"""An authority of one's own, and a certificate of it for 127.0.0.1."""

import ssl
import subprocess
from pathlib import Path


def openssl(*arguments: str) -> None:
    """Run openssl."""
    subprocess.run(["openssl", *arguments], check=True, capture_output=True, timeout=120)


def make_authority(folder: Path) -> Path:
    """Make an authority (`bundle/ca.crt`) and its certificate (`certificate`, `key`)."""
    (folder / "bundle").mkdir()
    new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2")
    ca, key = str(folder / "bundle/ca.crt"), str(folder / "ca.key")
    openssl(
        *("req", "-x509", *new, "-subj", "/CN=authority", "-keyout", key, "-out", ca),
        *("-addext", "basicConstraints=critical,CA:TRUE"),
        *("-addext", "keyUsage=critical,keyCertSign,cRLSign"),
    )
    openssl(
        *("req", "-x509", *new, "-subj", "/CN=provider", "-CA", ca, "-CAkey", key),
        *("-keyout", str(folder / "key"), "-out", str(folder / "certificate")),
        *("-addext", "subjectAltName=IP:127.0.0.1"),
        *("-addext", "basicConstraints=critical,CA:FALSE"),
    )
    return folder


def server_context(authority: Path) -> ssl.SSLContext:
    """Return what a server needs that is known by that authority."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(authority / "certificate", authority / "key")
    return context

"""Creates and loads the operator's TLS key.

A key here is the PEM text of a private key and its self-signed certificate. Clients check only the
certificate's pin, not its names or dates.
"""

import asyncio
import os
import ssl

from afresh.contract.hint_request import pin_of
from afresh.kube.errors import ConfigurationError

# The operator's image has openssl for ca-certificates. An X.509 library would be an additional
# compiled dependency for one key every few months.
MAKE = (
    "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
    "-batch", "-days", "36500", "-subj", "/CN=afresh-operator",
    "-keyout", "/dev/stdout", "-out", "/dev/stdout",
)  # fmt: skip
SECONDS = 30
MOST_BYTES = 16384
_BEGIN = "-----BEGIN CERTIFICATE-----"


async def make_key() -> str:
    """Return a new key. Raises ConfigurationError if openssl fails."""
    try:
        process = await asyncio.create_subprocess_exec(
            *MAKE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL
        )
    except OSError as error:
        raise ConfigurationError(f"openssl cannot be run: {error}") from error
    try:
        async with asyncio.timeout(SECONDS):
            made, _ = await process.communicate()
        key = made.decode("ascii")
        pin_of_key(key)
    except (TimeoutError, ValueError) as error:
        raise ConfigurationError("openssl created no key for the report endpoint") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    return key


def pin_of_key(key: str) -> str:
    """Return the pin of the key's certificate. Raises ValueError if the text has none."""
    return pin_of(ssl.PEM_cert_to_DER_cert(key[key.find(_BEGIN) :].strip()))


def server_context(key: str) -> ssl.SSLContext:
    """Return the TLS context of a server with the key. Raises ValueError if the key is invalid."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    # TLS 1.3 has no renegotiation, and both ends are programs of Afresh.
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.num_tickets = 0
    # The key is never written to a file system: the library reads it from an anonymous file.
    file = os.memfd_create("key")
    try:
        os.write(file, key.encode())
        context.load_cert_chain(f"/proc/self/fd/{file}", password="")
    except (OSError, ssl.SSLError) as error:
        raise ValueError("the key of the report endpoint cannot be loaded") from error
    finally:
        os.close(file)
    return context


def client_context() -> ssl.SSLContext:
    """Return the TLS context of a client that compares the certificate with a pin."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context

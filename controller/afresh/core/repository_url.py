"""Normalizes repository URLs, so that different addresses of one repository are equal.

Pure. Expects a URL that the API has accepted; the result for any other text is not defined.
"""

import re
from ipaddress import AddressValueError, IPv6Address

_DEFAULT_PORTS = {"http": "80", "https": "443", "ssh": "22"}
_URL = re.compile(
    r"(?P<scheme>[a-z]+)://(?:[^/@]*@)?(?P<host>\[[^\]/]*\]|[^/:]*)(?::(?P<port>\d*))?/(?P<path>.*)",
    re.IGNORECASE | re.DOTALL,
)
_SCP = re.compile(r"(?:[^/@:]*@)?(?P<host>\[[^\]/]*\]|[^/:]*):(?P<path>.*)", re.DOTALL)
_ESCAPE = re.compile("%([0-9A-Fa-f]{2})")
_UNRESERVED = re.compile("[A-Za-z0-9._~-]")


def normalized_url(url: str) -> str:
    """Return the same text for all addresses of a repository: host, non-default port, path.

    The scheme, the user's name, the case of the host, and slashes and `.git` at the end do not
    matter. The case of the path does, as it does for most servers.
    """
    match = _URL.fullmatch(url)
    if match:
        scheme, port = match["scheme"].lower(), (match["port"] or "").lstrip("0")
        is_default = port in ("", _DEFAULT_PORTS.get(scheme))
        place = _host(match["host"]) + ("" if is_default else f":{port}")
        return f"{place}/{_path(match['path'])}"
    match = _SCP.fullmatch(url)
    return f"{_host(match['host'])}/{_path(match['path'])}" if match else url


def _host(host: str) -> str:
    try:
        return f"[{IPv6Address(host.strip('[]'))}]"
    except AddressValueError:
        return host.lower().rstrip(".")


def _path(path: str) -> str:
    """Return the path as a server resolves it, without parts that do not change the repository."""
    parts: list[str] = []
    for part in _ESCAPE.sub(_unescaped, path).split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
    if parts and parts[-1] == ".git":
        del parts[-1]
    elif parts:
        parts[-1] = parts[-1].removesuffix(".git")
    return "/".join(parts)


def _unescaped(match: re.Match[str]) -> str:
    """Return the character if the escape was not needed, else the escape in upper case."""
    character = chr(int(match[1], 16))
    return character if _UNRESERVED.fullmatch(character) else match[0].upper()

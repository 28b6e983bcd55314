"""How a Git LFS server is reached: its address, our credentials, and what a refusal means.

Owns what is sent where: the credentials of the repository go to the repository's own host, and
elsewhere only what the server itself says. Knows nothing of objects.
"""

import json
import shlex
import ssl
import subprocess
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import IO, Any
from urllib.parse import urlsplit

from afresh.contract.order import Order
from afresh.contract.words import Outcome
from afresh.episode import refusals
from afresh.episode.ending import Ended
from afresh.episode.git import Git
from afresh.episode.git_faults import Fault, GitError, classify

SILENT_SECONDS = 60.0
FULL = frozenset({413, 507})


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An address with the headers to send there, which may hold a credential."""

    href: str
    header: Mapping[str, str] = field(default_factory=dict, repr=False)

    def action(self, said: Any, *, is_done: bool) -> "Action | None":
        """Return what a server says of a transfer; our own header goes to this host alone."""
        if not isinstance(said, dict):
            return None
        href, header = str(said.get("href")), _header(said.get("header"))
        has_own = is_done or any(name.lower() == "authorization" for name in header)
        if not has_own and urlsplit(href)[:2] == urlsplit(self.href)[:2]:
            header = {**self.header, **header}
        return Action(href=href, header=header)

    def request(
        self, body: bytes | IO[bytes] | None = None, method: str = "GET"
    ) -> urllib.request.Request:
        """Return a request. Raises ValueError where the address is not one of the web."""
        if urlsplit(self.href).scheme not in ("http", "https"):
            raise ValueError("not an address of the web")
        return urllib.request.Request(  # noqa: S310  # checked above
            self.href, data=body, headers=dict(self.header), method=method
        )


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: git does not either."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class LfsAccess:
    """The way to the server of the Order's repository. Raises Ended with what to mend."""

    git: Git
    order: Order
    opener: urllib.request.OpenerDirector = field(repr=False)

    @classmethod
    def of(cls, git: Git, order: Order) -> "LfsAccess":
        """Return the one that git's own address and credentials lead to."""
        roots = _configured(git, "http.sslCAInfo")
        context = ssl.create_default_context(cafile=roots or None)
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), _Stay, urllib.request.HTTPSHandler(context=context)
        )
        return cls(git=git, order=order, opener=opener)

    def endpoint(self, operation: str) -> Action:
        """Return the address of the LFS API; `operation` is download or upload."""
        url = self.order.repository.url
        if url.startswith("http"):
            header = _configured(self.git, "--get-urlmatch", "http.extraHeader", url)
            name, _, value = header.partition(": ")
            stem = url.rstrip("/").removesuffix(".git")
            return Action(href=f"{stem}.git/info/lfs", header={name: value} if value else {})
        user_and_host, path, port = _ssh_parts(url)
        ssh = shlex.split(_configured(self.git, "core.sshCommand"))
        command = [
            *ssh,
            *port,
            "--",
            user_and_host,
            f"git-lfs-authenticate {shlex.quote(path)} {operation}",
        ]
        try:
            done = subprocess.run(  # noqa: S603  # words of the package's own address, quoted
                command,
                capture_output=True,
                timeout=SILENT_SECONDS,
                check=True,
                stdin=subprocess.DEVNULL,
            )
            said = json.loads(done.stdout)
            return Action(href=str(said["href"]).rstrip("/"), header=_header(said.get("header")))
        except subprocess.TimeoutExpired as error:
            raise refusals.unreachable(url) from error
        except subprocess.CalledProcessError as error:
            raise self._refused_by_ssh(error.stderr.decode(errors="replace")) from error
        except (ValueError, TypeError, KeyError) as error:
            raise self.absent() from error

    def open(self, request: urllib.request.Request) -> Any:
        """Send a request and return its answer, whose status is good."""
        url = self.order.repository.url
        try:
            return self.opener.open(request, timeout=SILENT_SECONDS)
        except urllib.error.HTTPError as error:
            error.close()
            raise self._refused(error.code) from error
        except (OSError, HTTPException, ValueError) as error:
            reason = getattr(error, "reason", error)
            if isinstance(reason, ssl.SSLCertVerificationError):
                raise self._problem(Fault.UNTRUSTED) from error
            raise refusals.unreachable(url) from error

    def _refused(self, status: int) -> Ended:
        if status in (401, 403):
            return self._problem(Fault.DENIED)
        if status in FULL:
            return self._problem(Fault.FULL)
        if status == 429 or status >= 500:
            return refusals.unreachable(self.order.repository.url)
        return self.absent()

    def _refused_by_ssh(self, said: str) -> Ended:
        fault = classify(said)
        return self.absent() if fault is Fault.OTHER else self._problem(fault)

    def _problem(self, fault: Fault) -> Ended:
        return refusals.remote_problem(self.order, GitError("lfs", "", fault=fault))

    def absent(self) -> Ended:
        """Return how the episode ends where there is no such API."""
        url = refusals.public_url(self.order.repository.url)
        return Ended(
            Outcome.CONFIG,
            f"The server of {url} does not speak Git LFS for it; turn it on there, or correct "
            "spec.repository.lfs of the WorkPackage.",
        )


def _header(said: Any) -> dict[str, str]:
    return {str(name): str(value) for name, value in said.items()} if isinstance(said, dict) else {}


def _ssh_parts(url: str) -> tuple[str, str, tuple[str, ...]]:
    """Return USER@HOST, the path and ssh's words for the port."""
    if "://" not in url:
        user_and_host, _, path = url.partition(":")
        return user_and_host, path, ()
    parts = urlsplit(url)
    host = parts.hostname or ""
    user = f"{parts.username}@" if parts.username else ""
    return f"{user}{host}", parts.path, ("-p", str(parts.port)) if parts.port else ()


def _configured(git: Git, *name: str) -> str:
    try:
        return git.text("config", *name)
    except GitError:
        return ""

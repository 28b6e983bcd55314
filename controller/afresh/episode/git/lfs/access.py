"""Access to a Git LFS server: its address, our credentials, and the sending of requests.

Owns what is sent where: the credentials of the repository are sent to the repository's own host
only; other hosts get only the headers that the server itself names. Knows nothing about objects or
about what a refusal means.
"""

import json
import re
import shlex
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from typing import IO, Any
from urllib.parse import urljoin, urlsplit

from afresh.contract.order import Order
from afresh.episode.git import refusals
from afresh.episode.git.faults import GitError, GitFault, classify
from afresh.episode.git.repository import GitRepository

SILENT_SECONDS = 60.0
REDIRECTS = 5
_SHORT_URL = re.compile(r"([^\[\]:]+@(?:\[[^\]]+\]|[^:]+)):(.*)")


class LfsRefusalError(Exception):
    """A server refused a request with an HTTP `status`; None if its answer is not valid."""

    def __init__(self, status: int | None) -> None:
        super().__init__(f"status {status}")
        self.status = status


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect: the sender of a request decides."""

    def redirect_request(self, *_: Any, **__: Any) -> None:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """An address with the headers to send there, which may contain a credential."""

    href: str
    header: Mapping[str, str] = field(default_factory=dict, repr=False)

    def action(self, said: Any, *, is_done: bool) -> "Action | None":
        """Return the action that a server's answer describes; None if it describes none.

        The headers of this action, with our credential, are added only for the same host.
        `is_done`: the server says that the answer carries its own authentication.
        """
        if not isinstance(said, dict):
            return None
        href, header = str(said.get("href")), _header(said.get("header"))
        has_own = is_done or any(name.lower() == "authorization" for name in header)
        if not has_own and _site(href) == _site(self.href):
            header = {**self.header, **header}
        return Action(href=href, header=header)


@dataclass(frozen=True, slots=True, kw_only=True)
class LfsAccess:
    """Access to the server of the Order's repository, until the deadline of `git`."""

    git: GitRepository
    order: Order
    opener: urllib.request.OpenerDirector = field(repr=False)

    @classmethod
    def of(cls, git: GitRepository, order: Order) -> "LfsAccess":
        """Return the access with git's own address, credentials and authorities."""
        context = ssl.create_default_context()
        if roots := _configured(git, "http.sslCAInfo"):
            context.load_verify_locations(roots)
        opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), _Stay, urllib.request.HTTPSHandler(context=context)
        )
        return cls(git=git, order=order, opener=opener)

    def endpoint(self, operation: str) -> Action:
        """Return the address of the LFS API; `operation` is "download" or "upload".

        Raises SubtaskStopped, or LfsRefusalError if the server has no such API.
        """
        url = self.order.repository.url
        if url.startswith("http"):
            header = _configured(self.git, "--get-urlmatch", "http.extraHeader", url)
            name, _, value = header.partition(": ")
            stem = url.rstrip("/").removesuffix(".git")
            return Action(href=f"{stem}.git/info/lfs", header={name: value} if value else {})
        user_and_host, path, port = ssh_parts(url)
        ssh = shlex.split(_configured(self.git, "core.sshCommand"))
        asked = f"git-lfs-authenticate {shlex.quote(path)} {operation}"
        try:
            done = subprocess.run(  # noqa: S603  # arguments from the package's own address, quoted
                [*ssh, *port, "--", user_and_host, asked],
                capture_output=True,
                timeout=self._seconds(),
                check=True,
                stdin=subprocess.DEVNULL,
            )
            said = json.loads(done.stdout)
            return Action(href=str(said["href"]).rstrip("/"), header=_header(said.get("header")))
        except (subprocess.TimeoutExpired, TimeoutError) as error:
            raise refusals.unreachable(url) from error
        except subprocess.CalledProcessError as error:
            fault = classify(error.stderr.decode(errors="replace"))
            if fault is GitFault.OTHER:
                raise LfsRefusalError(None) from error
            raise refusals.remote_problem(self.order, GitError("lfs", "", fault=fault)) from error
        except (ValueError, TypeError, KeyError) as error:
            raise LfsRefusalError(None) from error

    def send(
        self,
        action: Action,
        method: str = "GET",
        body: "Body | None" = None,
        header: Mapping[str, str] | None = None,
    ) -> Any:
        """Send a request and return its answer, which has a success status.

        A GET follows redirects. The action's headers take precedence over `header`. Raises
        LfsRefusalError for any other status, and SubtaskStopped if the server cannot be reached.
        """
        for _ in range(REDIRECTS):
            try:
                return self.opener.open(
                    _request(action, method, body, header or {}), timeout=self._seconds()
                )
            except urllib.error.HTTPError as error:
                error.close()
                there = error.headers.get("location") if 300 <= error.code < 400 else None
                if method != "GET" or not there:
                    raise LfsRefusalError(error.code) from error
                action = Action(href=urljoin(action.href, there))
            except ValueError as error:
                raise LfsRefusalError(None) from error
            except (OSError, HTTPException) as error:
                reason = getattr(error, "reason", error)
                if isinstance(reason, ssl.SSLCertVerificationError):
                    untrusted = GitError("lfs", "", fault=GitFault.UNTRUSTED)
                    raise refusals.remote_problem(self.order, untrusted) from error
                raise refusals.unreachable(self.order.repository.url) from error
        raise LfsRefusalError(None)

    def in_time(self, content: IO[bytes]) -> "InTime":
        """Return a stream of the same bytes that raises TimeoutError after the deadline."""
        return InTime(content, self.git.deadline)

    def _seconds(self) -> float:
        left = self.git.deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return min(SILENT_SECONDS, left)


class InTime:
    """A stream that can be read until a deadline, a value of time.monotonic()."""

    def __init__(self, content: IO[bytes], deadline: float) -> None:
        self._content = content
        self._deadline = deadline

    def read(self, size: int = -1) -> bytes:
        """Return the next bytes. Raises TimeoutError after the deadline."""
        if time.monotonic() > self._deadline:
            raise TimeoutError
        return self._content.read(size)


Body = bytes | IO[bytes] | InTime


def ssh_parts(url: str) -> tuple[str, str, tuple[str, ...]]:
    """Return USER@HOST, the path, and ssh's arguments for the port."""
    if "://" not in url:
        found = _SHORT_URL.fullmatch(url)
        user_and_host, path = (found[1], found[2]) if found else (url, "")
        return user_and_host.replace("[", "").replace("]", ""), path, ()
    parts = urlsplit(url)
    user = f"{parts.username}@" if parts.username else ""
    path = parts.path[1:] if parts.path.startswith("/~") else parts.path
    port = ("-p", str(parts.port)) if parts.port else ()
    return f"{user}{parts.hostname or ''}", path, port


def _request(
    action: Action, method: str, body: "Body | None", header: Mapping[str, str]
) -> urllib.request.Request:
    if not _site(action.href)[0].startswith("http"):
        raise ValueError("not an HTTP address")
    headers = {**header, **action.header}
    if "transfer-encoding" in map(str.lower, action.header):
        headers.pop("Content-Length", None)
    return urllib.request.Request(  # noqa: S310  # checked above
        action.href,
        data=body,
        headers=headers,
        method=method,
    )


def _site(href: str) -> tuple[str, str]:
    try:
        parts = urlsplit(href)
    except ValueError:
        return "", ""
    return parts.scheme, parts.netloc


def _header(said: Any) -> dict[str, str]:
    return {str(name): str(value) for name, value in said.items()} if isinstance(said, dict) else {}


def _configured(git: GitRepository, *name: str) -> str:
    try:
        return git.text("config", *name)
    except GitError:
        return ""

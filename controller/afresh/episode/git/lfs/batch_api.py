"""A client of a Git LFS server: the batch API with basic transfers.

Owns the requests, the validation of answers, and the meaning of a refusal. Source: the Git LFS API
documents of version 3.
"""

import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from http.client import HTTPException
from pathlib import Path
from typing import IO, Any

from afresh.contract.words import Outcome
from afresh.episode.git import refusals
from afresh.episode.git.faults import GitError, GitFault
from afresh.episode.git.lfs.access import Action, LfsAccess, LfsRefusalError
from afresh.episode.stopped import SubtaskStopped

MEDIA = "application/vnd.git-lfs+json"
JSON = {"Content-Type": MEDIA, "Accept": MEDIA}
AT_ONCE = 100
CHUNK = 1 << 20
ANSWER_BYTES = 8 << 20
DOWNLOAD, UPLOAD = "download", "upload"


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeObject:
    """An object, identified by its SHA-256 in hexadecimal, with its size in bytes."""

    oid: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LfsRemote:
    """The LFS server of the Order's repository.

    Every method raises SubtaskStopped with what to correct if the server fails or refuses.
    """

    access: LfsAccess

    def download(
        self, items: Sequence[LargeObject], to: Path
    ) -> Iterator[tuple[LargeObject, Path]]:
        """Yield each object with the file that has its content; `to` is reused for each of them."""
        for item, action, _ in self._actions(DOWNLOAD, items):
            if action is None:
                raise self._lacks(item)
            try:
                with self.access.send(action) as answer, to.open("wb") as file:
                    self._copy(item, answer, file)
            except LfsRefusalError as refusal:
                raise self._common(refusal) or self._lacks(item) from refusal
            yield item, to
        to.unlink(missing_ok=True)

    def upload(
        self,
        items: Sequence[LargeObject],
        reading: Callable[[LargeObject], AbstractContextManager[IO[bytes]]],
    ) -> None:
        """Upload the objects that the server does not have yet."""
        for item, action, verify in self._actions(UPLOAD, items):
            if action is None:
                continue
            try:
                with reading(item) as content:
                    header = {
                        "Content-Length": str(item.size),
                        "Content-Type": "application/octet-stream",
                    }
                    self.access.send(action, "PUT", self.access.in_time(content), header).close()
                if verify:
                    body = json.dumps({"oid": item.oid, "size": item.size}).encode()
                    self.access.send(verify, "POST", body, JSON).close()
            except LfsRefusalError as refusal:
                raise self._common(refusal) or self._refuses(item) from refusal

    def _actions(
        self, operation: str, items: Sequence[LargeObject]
    ) -> Iterator[tuple[LargeObject, Action | None, Action | None]]:
        try:
            endpoint = self.access.endpoint(operation)
        except LfsRefusalError as refusal:
            raise self._absent() from refusal
        refused = self._lacks if operation == DOWNLOAD else self._refuses
        for first in range(0, len(items), AT_ONCE):
            wanted = {item.oid: item for item in items[first : first + AT_ONCE]}
            for answer in self._batch(endpoint, operation, list(wanted.values())):
                item = wanted.pop(str(answer.get("oid")), None)
                if item is None:
                    continue
                if answer.get("error"):
                    raise refused(item)
                said = answer.get("actions")
                actions = said if isinstance(said, dict) else {}
                is_done = bool(answer.get("authenticated"))
                yield (
                    item,
                    endpoint.action(actions.get(operation), is_done=is_done),
                    endpoint.action(actions.get("verify"), is_done=is_done),
                )
            if wanted:
                raise refused(next(iter(wanted.values())))

    def _batch(
        self, endpoint: Action, operation: str, items: Sequence[LargeObject]
    ) -> list[dict[str, Any]]:
        body = {
            "operation": operation,
            "transfers": ["basic"],
            "ref": {"name": f"refs/heads/{self.access.order.repository.branch}"},
            "objects": [{"oid": item.oid, "size": item.size} for item in items],
            "hash_algo": "sha256",
        }
        there = replace(endpoint, href=f"{endpoint.href}/objects/batch")
        try:
            with self.access.send(there, "POST", json.dumps(body).encode(), JSON) as answer:
                said = json.loads(answer.read(ANSWER_BYTES))
            return [item for item in said["objects"] if isinstance(item, dict)]
        except LfsRefusalError as refusal:
            raise self._common(refusal) or self._absent() from refusal
        except (OSError, HTTPException) as error:
            raise refusals.unreachable(self.access.order.repository.url) from error
        except (ValueError, TypeError, KeyError) as error:
            raise self._absent() from error

    def _copy(self, item: LargeObject, answer: IO[bytes], file: IO[bytes]) -> None:
        digest, left = hashlib.sha256(), item.size
        content = self.access.in_time(answer)
        try:
            while chunk := content.read(min(CHUNK, left + 1)):
                digest.update(chunk)
                file.write(chunk)
                left -= len(chunk)
                if left < 0:
                    break
        except (OSError, HTTPException) as error:
            raise refusals.unreachable(self.access.order.repository.url) from error
        if left or digest.hexdigest() != item.oid:
            raise self._lacks(item)

    def _common(self, refusal: LfsRefusalError) -> SubtaskStopped | None:
        """Return the end of the episode for a status with the same meaning in every request."""
        status = refusal.status or 0
        if status == 413:
            return self._problem(GitFault.TOO_LARGE)
        if status in (401, 403):
            return self._problem(GitFault.DENIED)
        if status in (507, 509):  # no room; no bandwidth left
            return self._problem(GitFault.FULL)
        if status == 429 or status >= 500:
            return self._problem(GitFault.UNREACHABLE)
        return None

    def _problem(self, fault: GitFault) -> SubtaskStopped:
        return refusals.remote_problem(self.access.order, GitError("lfs", "", fault=fault))

    def _absent(self) -> SubtaskStopped:
        return self._config(
            "does not offer Git LFS for it; enable it there, or correct spec.repository.lfs of the "
            "WorkPackage."
        )

    def _lacks(self, item: LargeObject) -> SubtaskStopped:
        oid = item.oid[:12]
        return self._config(f"lacks the Git LFS object {oid}; push it there with git lfs push.")

    def _refuses(self, item: LargeObject) -> SubtaskStopped:
        oid = item.oid[:12]
        return self._config(f"refuses the Git LFS object {oid}; allow uploads of its size there.")

    def _config(self, said: str) -> SubtaskStopped:
        url = refusals.public_url(self.access.order.repository.url)
        return SubtaskStopped(Outcome.CONFIG, f"The server of {url} {said}")

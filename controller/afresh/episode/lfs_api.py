"""Speaks with a Git LFS server: the batch API with basic transfers.

Owns the requests and what must be true of the answers. Source: the Git LFS API documents of
version 3.
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
from afresh.episode import refusals
from afresh.episode.ending import Ended
from afresh.episode.lfs_access import Action, LfsAccess

MEDIA = "application/vnd.git-lfs+json"
AT_ONCE = 100
CHUNK = 1 << 20
ANSWER_BYTES = 8 << 20
DOWNLOAD, UPLOAD = "download", "upload"


@dataclass(frozen=True, slots=True, kw_only=True)
class LargeObject:
    """An object by its SHA-256, with its size in bytes."""

    oid: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LfsRemote:
    """The server of the Order's repository. Every method raises Ended with what to mend."""

    access: LfsAccess

    def download(
        self, items: Sequence[LargeObject], to: Path
    ) -> Iterator[tuple[LargeObject, Path]]:
        """Yield each object with its file, which is `to` for each of them in turn."""
        for item, action, _ in self._actions(DOWNLOAD, items):
            if action is None:
                raise self._lacks(item)
            with self.access.open(action.request()) as answer, to.open("wb") as file:
                self._copy(item, answer, file)
            yield item, to
        to.unlink(missing_ok=True)

    def upload(
        self,
        items: Sequence[LargeObject],
        reading: Callable[[LargeObject], AbstractContextManager[IO[bytes]]],
    ) -> None:
        """Send what the server does not have yet."""
        for item, action, verify in self._actions(UPLOAD, items):
            if action is None:
                continue
            with reading(item) as content:
                request = action.request(content, "PUT")
                request.add_header("Content-Length", str(item.size))
                request.add_header("Content-Type", "application/octet-stream")
                self.access.open(request).close()
            if verify:
                body = json.dumps({"oid": item.oid, "size": item.size}).encode()
                request = verify.request(body, "POST")
                request.add_header("Content-Type", MEDIA)
                request.add_header("Accept", MEDIA)
                self.access.open(request).close()

    def _actions(
        self, operation: str, items: Sequence[LargeObject]
    ) -> Iterator[tuple[LargeObject, Action | None, Action | None]]:
        endpoint = self.access.endpoint(operation)
        for first in range(0, len(items), AT_ONCE):
            wanted = {item.oid: item for item in items[first : first + AT_ONCE]}
            for answer in self._batch(endpoint, operation, list(wanted.values())):
                item = wanted.pop(str(answer.get("oid")), None)
                if item is None:
                    continue
                if answer.get("error"):
                    raise self._lacks(item)
                actions = answer.get("actions") or {}
                is_done = bool(answer.get("authenticated"))
                yield (
                    item,
                    endpoint.action(actions.get(operation), is_done=is_done),
                    endpoint.action(actions.get("verify"), is_done=is_done),
                )
            if wanted:
                raise self._lacks(next(iter(wanted.values())))

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
        request = there.request(json.dumps(body).encode(), "POST")
        request.add_header("Content-Type", MEDIA)
        request.add_header("Accept", MEDIA)
        with self.access.open(request) as answer:
            try:
                said = json.loads(answer.read(ANSWER_BYTES))
                return [item for item in said["objects"] if isinstance(item, dict)]
            except (ValueError, TypeError, KeyError, OSError, HTTPException) as error:
                raise self.access.absent() from error

    def _copy(self, item: LargeObject, answer: IO[bytes], file: IO[bytes]) -> None:
        digest, left = hashlib.sha256(), item.size
        try:
            while chunk := answer.read(min(CHUNK, left + 1)):
                digest.update(chunk)
                file.write(chunk)
                left -= len(chunk)
                if left < 0:
                    break
        except (OSError, HTTPException) as error:
            raise refusals.unreachable(self.access.order.repository.url) from error
        if left or digest.hexdigest() != item.oid:
            raise self._lacks(item)

    def _lacks(self, item: LargeObject) -> Ended:
        url = refusals.public_url(self.access.order.repository.url)
        return Ended(
            Outcome.CONFIG,
            f"The server of {url} lacks the Git LFS object {item.oid[:12]}, or refuses it; "
            "push it there with git lfs push.",
        )

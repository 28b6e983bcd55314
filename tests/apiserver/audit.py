"""What the API server's audit log says of the operator, under the chart's own names."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ACCOUNT = "system:serviceaccount:afresh-system:afresh-operator"
WRITES = ("create", "update", "patch", "delete", "deletecollection")


@dataclass(frozen=True)
class Use:
    """One thing that was done: how, to what kind."""

    verb: str
    group: str
    resource: str


@dataclass(frozen=True)
class Entry:
    """One request that was answered. `token` is the id of the token that it came with."""

    use: Use
    namespace: str
    name: str
    code: int
    time: str
    token: str
    annotations: dict[str, str]

    @property
    def is_denied(self) -> bool:
        """Whether the account lacked the right."""
        return self.annotations.get("authorization.k8s.io/decision") == "forbid"

    @property
    def writes(self) -> bool:
        """Whether it asks for a change."""
        return self.use.verb in WRITES


def entries_of(log: Path, account: str = ACCOUNT) -> list[Entry]:
    """Return what the account asked for, from the log and its older parts."""
    parts = sorted(log.parent.glob(f"{log.stem}*{log.suffix}"))
    lines = (line for part in parts for line in _whole_lines(part))
    mine = (raw for raw in map(json.loads, lines) if raw["user"].get("username") == account)
    return list(_entries(mine))


def _whole_lines(part: Path) -> list[bytes]:
    """Return the lines but for the one that the server is writing."""
    return part.read_bytes().rpartition(b"\n")[0].splitlines()


def _entries(raws: Iterator[dict[str, Any]]) -> Iterator[Entry]:
    for raw in raws:
        about = raw.get("objectRef")
        # A watch is answered long before it ends.
        if about is None or raw["stage"] not in ("ResponseStarted", "ResponseComplete"):
            continue
        resource = "/".join(filter(None, (about["resource"], about.get("subresource"))))
        tokens = raw["user"].get("extra", {}).get("authentication.kubernetes.io/credential-id")
        yield Entry(
            use=Use(raw["verb"], about.get("apiGroup", ""), resource),
            namespace=about.get("namespace", ""),
            name=about.get("name", ""),
            code=raw["responseStatus"]["code"],
            time=raw["requestReceivedTimestamp"],
            token=(tokens or [""])[0].removeprefix("JTI="),
            annotations=raw.get("annotations", {}),
        )

"""The keys that all replicas share in one Secret: those of the report endpoint and of the seals.

This module owns the content of that Secret, the only one that the operator reads. Orders pin the
current and the next key, so that an episode that began before a rotation knows the next key.
"""

import asyncio
import base64
import secrets
import ssl
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from afresh import clock
from afresh.kube.certificate import MOST_BYTES, make_key, pin_of_key, server_context
from afresh.kube.client import Kube
from afresh.kube.errors import ConflictError, KubeError, NotFoundError, RefusedError
from afresh.kube.resources import SECRETS, Manifest
from afresh.logs import get_logger

log = get_logger()
LIFE = timedelta(days=90)
"""Far longer than an episode: no Order sees two changes."""
LOOK_SECONDS = 300.0
TRY_SECONDS = 2.0
ROUNDS = 10
SEAL_BYTES = 32


@dataclass(frozen=True, slots=True)
class KeyPair:
    """The key in use since a time, and the next key; `seal` is the key of the seals on Jobs."""

    current: str
    following: str
    since: datetime
    seal: str


class ReportKeys:
    """The keys in the Secret `name`; without a name, keys of this process alone."""

    def __init__(self, kube: Kube, name: str | None) -> None:
        self._kube = kube
        self._name = name
        self._pair: KeyPair | None = None
        self._context: ssl.SSLContext | None = None
        self._pins: tuple[str, ...] = ()
        self._seal: bytes | None = None
        self._sealed_since: str | None = None

    async def open(self) -> None:
        """Wait until there is a key. Raises ConfigurationError if none can be created.

        If the Secret does not exist or cannot be read, the operator continues: only hints that are
        sent during a restart, or to another replica, are lost.
        """
        while not self._pair:
            try:
                await self._look()
            except (NotFoundError, RefusedError) as error:
                log.error("report_key_not_kept", secret=self._name, error=str(error))
                self._use(await _fresh())
            except KubeError as error:
                log.warning("report_key_not_read", secret=self._name, error=str(error))
                await asyncio.sleep(TRY_SECONDS)

    async def keep(self) -> None:
        """Read the Secret at intervals and rotate the key in time, until cancelled."""
        while self._name:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self._look()
            except KubeError as error:
                log.warning("report_key_not_read", secret=self._name, error=str(error))

    def context(self) -> ssl.SSLContext:
        """Return the TLS context with the key in use."""
        if self._context is None:
            raise RuntimeError("the keys are not open")
        return self._context

    def pins(self) -> tuple[str, ...]:
        """Return the pins of the key in use and of the next key."""
        return self._pins

    def seal(self) -> bytes | None:
        """Return the key of the seals; None if other replicas would have a different one."""
        return self._seal

    def sealed_since(self) -> str | None:
        """Return when the Secret was created, as the API server wrote it."""
        return self._sealed_since

    async def _look(self) -> None:
        if self._name is None:
            self._use(await _fresh())
            return
        for _ in range(ROUNDS):
            found = await self._kube.get(SECRETS, self._kube.namespace, self._name)
            stored = _read(found)
            wanted = await self._wanted(stored, _seal_in(found))
            if wanted != stored and self._kube.write_seconds() > 0:
                try:
                    await self._write(found, wanted)
                except ConflictError:
                    continue  # another operator was first: use its key
                log.info("report_key_written", secret=self._name)
                stored = wanted
            if stored:
                self._use(stored)
                self._seal = bytes.fromhex(stored.seal)
                self._sealed_since = found["metadata"].get("creationTimestamp")
            return
        raise ConflictError(f"the Secret {self._name} changes all the time")

    async def _wanted(self, stored: KeyPair | None, seal: str | None) -> KeyPair:
        if stored is None:  # emptied by hand: running episodes have pinned the keys that were there
            pair = self._pair or await _fresh()
            return replace(pair, seal=seal) if seal else pair
        if abs(clock.now() - stored.since) < LIFE:  # clocks differ, and one may have been far ahead
            return stored
        return KeyPair(stored.following, await make_key(), clock.now(), stored.seal)

    async def _write(self, found: Manifest, pair: KeyPair) -> None:
        texts = {
            "current": pair.current,
            "following": pair.following,
            "since": pair.since.isoformat(),
            "seal": pair.seal,
        }
        data = {name: base64.b64encode(text.encode()).decode() for name, text in texts.items()}
        version = found["metadata"]["resourceVersion"]
        operations = [
            {"op": "replace", "path": "/metadata/resourceVersion", "value": version},
            {"op": "add", "path": "/data", "value": data},
        ]
        await self._kube.patch(SECRETS, self._kube.namespace, self._name or "", operations)

    def _use(self, pair: KeyPair) -> None:
        if pair == self._pair:
            return
        self._context = server_context(pair.current)
        self._pins = (pin_of_key(pair.current), pin_of_key(pair.following))
        self._pair = pair


async def _fresh() -> KeyPair:
    return KeyPair(await make_key(), await make_key(), clock.now(), secrets.token_hex(SEAL_BYTES))


def _read(secret: Manifest) -> KeyPair | None:
    """Return the keys in the Secret; None if it has no usable ones."""
    data = secret.get("data") or {}
    try:
        current, following, since, seal = (
            base64.b64decode(data[name][:MOST_BYTES], validate=True).decode("ascii")
            for name in ("current", "following", "since", "seal")
        )
        for key in (current, following):
            server_context(key)
            pin_of_key(key)
        begun = datetime.fromisoformat(since)
        if begun.tzinfo is None or seal != _seal_in(secret):
            return None
    except (KeyError, TypeError, ValueError):
        return None
    return KeyPair(current, following, begun, seal)


def _seal_in(secret: Manifest) -> str | None:
    """Return the key of the seals in the Secret; None if it has no usable one."""
    try:
        text = base64.b64decode(secret["data"]["seal"], validate=True).decode("ascii")
        return text if len(bytes.fromhex(text)) == SEAL_BYTES else None
    except (KeyError, TypeError, ValueError):
        return None

"""One step for one AgentClass: read it, and write its conditions if they have changed.

This module owns `status.conditions` of a class. `apply` writes `status.gates` for the packages.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import TypeAdapter, ValidationError

from afresh.api.agent_class import AgentClass
from afresh.api.conditions import Condition, Conditions
from afresh.core.class_status import class_conditions, unreadable_class
from afresh.kube.cache import Cache
from afresh.kube.client import Kube
from afresh.kube.errors import UnreadableError
from afresh.kube.models import parse
from afresh.kube.queue import Key
from afresh.kube.resources import AGENT_CLASSES, Manifest

_CONDITIONS: TypeAdapter[tuple[Condition, ...]] = TypeAdapter(Conditions)


def class_key(body: Manifest) -> Key:
    """Return the key of an AgentClass, which is in no namespace."""
    return Key("", body["metadata"]["name"])


@dataclass(frozen=True, slots=True)
class ClassLoop:
    """The loop's body for AgentClasses. It has no state between steps."""

    kube: Kube
    cache: Cache

    async def step(self, key: Key, *, now: datetime) -> timedelta | None:
        """Write the conditions of the class, if they differ. Raises KubeError."""
        raw = self.cache.get(AGENT_CLASSES, "", key.name)
        if raw is None or "deletionTimestamp" in raw["metadata"]:
            return None
        status: dict[str, Any] = raw.get("status", {})
        wanted = [item.to_manifest() for item in _conditions(raw, now)]
        if wanted != status.get("conditions"):
            changed = {**status, "conditions": wanted}
            self.cache.put(
                AGENT_CLASSES, await self.kube.replace_part(AGENT_CLASSES, raw, "status", changed)
            )
        return None


def _conditions(raw: Manifest, now: datetime) -> tuple[Condition, ...]:
    now = now.replace(microsecond=0)
    try:
        return class_conditions(parse(AgentClass, raw), now)
    except UnreadableError as error:
        generation = raw["metadata"].get("generation", 0)
        return unreadable_class(generation, str(error), now, _known(raw))


def _known(raw: Manifest) -> tuple[Condition, ...]:
    try:
        return _CONDITIONS.validate_python(raw.get("status", {}).get("conditions", ()))
    except ValidationError:
        return ()

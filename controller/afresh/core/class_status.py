"""Computes the conditions of an AgentClass: whether packages may use it. Pure."""

from collections.abc import Iterator
from datetime import datetime
from enum import StrEnum

from afresh.api.agent_class import AgentClass, AgentClassSpec
from afresh.api.conditions import Condition
from afresh.api.resources import quantity_value
from afresh.core.policy.ceilings import AMOUNTS
from afresh.core.policy.unsupported import unsupported_of_class


class ClassReason(StrEnum):
    """The reasons of a class's condition Ready."""

    ACCEPTED = "Accepted"
    UNREADABLE = "Unreadable"
    NOT_SUPPORTED = "NotSupported"
    ABOVE_CEILING = "AboveCeiling"


READY = "Ready"
ACCEPTED = "Packages may use this class."


def class_conditions(agent_class: AgentClass, now: datetime) -> tuple[Condition, ...]:
    """Return the conditions of a class; an unchanged one keeps its transition time."""
    problem = next(_problems(agent_class.spec), None)
    reason, message = problem or (ClassReason.ACCEPTED, ACCEPTED)
    old = agent_class.status.conditions
    generation = agent_class.metadata.generation
    return (_ready(problem is None, reason, message, generation=generation, now=now, old=old),)


def unreadable_class(
    generation: int, message: str, now: datetime, old: tuple[Condition, ...]
) -> tuple[Condition, ...]:
    """Return the conditions of a class that cannot be read; `message` says why."""
    reason = ClassReason.UNREADABLE
    return (_ready(False, reason, message, generation=generation, now=now, old=old),)


def _problems(spec: AgentClassSpec) -> Iterator[tuple[ClassReason, str]]:
    for sentence in unsupported_of_class(spec):
        yield ClassReason.NOT_SUPPORTED, sentence
    for name in AMOUNTS:
        own, ceiling = getattr(spec.resources.limits, name), getattr(spec.ceilings.limits, name)
        if own and ceiling and quantity_value(own) > quantity_value(ceiling):
            field = name.replace("_", "-")
            yield (
                ClassReason.ABOVE_CEILING,
                f"Raise spec.ceilings.limits.{field} or lower spec.resources.limits.{field}: the "
                f"class itself sets {own} and allows a package to set at most {ceiling}.",
            )
    most = spec.ceilings.pids_limit
    if most and spec.pids_limit > most:
        yield (
            ClassReason.ABOVE_CEILING,
            "Raise spec.ceilings.pidsLimit or lower spec.pidsLimit: the class itself sets "
            f"{spec.pids_limit} and allows a package to set at most {most}.",
        )


def _ready(
    holds: bool,
    reason: ClassReason,
    message: str,
    *,
    generation: int,
    now: datetime,
    old: tuple[Condition, ...],
) -> Condition:
    status = "True" if holds else "False"
    before = next((item for item in old if item.type == READY), None)
    same = before is not None and before.status == status
    return Condition(
        type=READY,
        status=status,
        reason=reason,
        message=message,
        observed_generation=generation,
        last_transition_time=before.last_transition_time if before and same else now,
    )

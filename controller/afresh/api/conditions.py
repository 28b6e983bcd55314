"""The status condition of Kubernetes objects. This module does not know any kind."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, StrictInt

from afresh.api.meta import ApiModel
from afresh.api.rules import Clipped, MapBy

Message = Annotated[str, Clipped(2048)]
"""A sentence for people: what happened and what to do, then details. If it is too long, the details
are cut."""

SHORT = Clipped(200)

ShortMessage = Annotated[str, SHORT]
"""A shorter `Message`, for lists of 200 items: it keeps the object below 256 KiB."""

Reason = Annotated[str, Field(max_length=64)]
"""One CamelCase word."""


class Condition(ApiModel):
    """One aspect of the object's state."""

    type: str = Field(max_length=64)
    """The type of the condition, such as Ready."""
    status: Literal["True", "False", "Unknown"]
    """Whether the condition is true."""
    reason: Reason = ""
    """Why the condition has this status, as one CamelCase word."""
    message: Message = ""
    """Why the condition has this status, as a sentence, with what to do about it."""
    observed_generation: StrictInt | None = None
    """The generation of the spec from which this condition was computed."""
    last_transition_time: AwareDatetime | None = None
    """When `status` last changed."""


Conditions = Annotated[tuple[Condition, ...], Field(max_length=16), MapBy("type")]

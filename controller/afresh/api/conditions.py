"""The condition, as every Kubernetes object has it. Knows no kind."""

from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, StrictInt

from afresh.api.meta import ApiModel
from afresh.api.rules import Clipped, MapBy

Message = Annotated[str, Clipped(2048)]
"""A sentence for people, with what to do and details; of longer ones the details are cut."""

SHORT = Clipped(200)

ShortMessage = Annotated[str, SHORT]
"""The same where there are 200 of them: no object is larger than 256 KiB."""

Reason = Annotated[str, Field(max_length=64)]
"""One CamelCase word."""


class Condition(ApiModel):
    """One aspect of the object's state."""

    type: str = Field(max_length=64)
    """What the condition is about, such as Ready."""
    status: Literal["True", "False", "Unknown"]
    """Whether it holds."""
    reason: Reason = ""
    """Why, as one CamelCase word."""
    message: Message = ""
    """Why, as a sentence, with what to do about it."""
    observed_generation: StrictInt | None = None
    """The generation of the spec that this was concluded from."""
    last_transition_time: AwareDatetime | None = None
    """When `status` last changed."""


Conditions = Annotated[tuple[Condition, ...], Field(max_length=16), MapBy("type")]

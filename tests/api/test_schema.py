"""What a structural schema cannot say is refused, and nothing is lost on the way."""

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from afresh.api.schema import SchemaError, structural_schema


class _Unbounded(BaseModel):
    text: str


class _UnboundedList(BaseModel):
    items: tuple[int, ...]


class _UnboundedMap(BaseModel):
    labels: dict[str, int]


class _Union(BaseModel):
    value: Annotated[str, Field(max_length=3)] | int


class _KeyPattern(BaseModel):
    labels: dict[Annotated[str, Field(pattern="^a")], int] = Field(max_length=3)


class _Forbidding(BaseModel):
    model_config = ConfigDict(extra="forbid")


class _Exclusive(BaseModel):
    number: int = Field(gt=0)


@pytest.mark.parametrize(
    ("model", "want"),
    [
        pytest.param(_Unbounded, "text: has no upper bound", id="text without a length"),
        pytest.param(_UnboundedList, "items: has no upper bound", id="list without a length"),
        pytest.param(_UnboundedMap, "labels: has no upper bound", id="map without a size"),
        pytest.param(_Union, "value: a structural schema cannot choose", id="two types"),
        pytest.param(_KeyPattern, "has no patternProperties", id="pattern of keys"),
        pytest.param(_Forbidding, "cannot forbid unknown fields", id="forbidden extra fields"),
        pytest.param(_Exclusive, "number: a structural schema has no exclusive", id="exclusive"),
    ],
)
def test_model_beyond_a_structural_schema_converted_is_refused(
    model: type[BaseModel], want: str
) -> None:
    with pytest.raises(SchemaError, match=want):
        structural_schema(model)


class _Inner(BaseModel):
    """An inner part."""

    kind: Literal["A"] = "A"


class _Outer(BaseModel):
    inner: _Inner = _Inner()
    maybe: _Inner | None = None
    free: dict[str, Any] = Field(default_factory=dict)


def test_model_converted_is_inlined_with_defaults_and_without_null() -> None:
    schema = structural_schema(_Outer)

    inner = {
        "description": "An inner part.",
        "type": "object",
        "properties": {"kind": {"type": "string", "default": "A", "enum": ["A"]}},
    }
    assert schema["properties"] == {
        "inner": inner | {"default": {}},
        "maybe": inner,
        "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
    }

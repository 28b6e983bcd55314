"""The base classes of the models and kinds: their YAML form, and the object's metadata.

This module does not know any kind.
"""

from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AwareDatetime,
    BaseModel,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    StrictInt,
    model_validator,
)
from pydantic_core import CoreSchema

from afresh.api.rules import VALIDATIONS, Rule, camel_case

API_GROUP = "afresh.dev"
API_VERSION = "v1alpha1"

ApiVersion = Literal["afresh.dev/v1alpha1"]


class ApiModel(BaseModel):
    """Base class of all parts of an object: frozen, snake_case in Python and camelCase in YAML.

    Fields that this version does not know are ignored, so that objects of a newer version can be
    read; the API server refuses them when users write them. Parsing raises pydantic's
    ValidationError, which names the field, for every value that the CRD refuses.
    """

    model_config = ConfigDict(
        frozen=True,
        extra="ignore",
        alias_generator=camel_case,
        populate_by_name=True,
        use_attribute_docstrings=True,
    )

    RULES: ClassVar[tuple[Rule, ...]] = ()

    @model_validator(mode="after")
    def _obey_rules(self) -> Self:
        for rule in self.RULES:
            if rule.holds and not rule.holds(self):
                raise ValueError(rule.message)
        return self

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        described = handler(schema)
        if cls.RULES:
            rules = [rule.as_validation() for rule in cls.RULES]
            handler.resolve_ref_schema(described)[VALIDATIONS] = rules
        return described

    def to_manifest(self) -> dict[str, Any]:
        """Return plain JSON values under their YAML names, without fields that are None."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class ManagedFields(ApiModel):
    """An entry of `metadata.managedFields`: the fields that one manager wrote last."""

    manager: str = ""
    time: AwareDatetime | None = None
    subresource: str = ""
    fields_v1: dict[str, Any] = Field(default_factory=dict, alias="fieldsV1")

    @property
    def is_of_users(self) -> bool:
        """Whether the entry covers the object itself, not a subresource such as its status."""
        return not self.subresource


class ObjectMeta(ApiModel):
    """The part of an object's metadata that Afresh reads; absent fields are empty."""

    name: str
    namespace: str = ""
    uid: str = ""
    generation: StrictInt = 0
    resource_version: str = ""
    creation_timestamp: AwareDatetime | None = None
    deletion_timestamp: AwareDatetime | None = None
    annotations: dict[str, str] = Field(default_factory=dict)
    labels: dict[str, str] = Field(default_factory=dict)
    managed_fields: tuple[ManagedFields, ...] = Field(default=(), exclude=True, repr=False)


class ObjectStatus(ApiModel):
    """A status, whose manifest has no empty fields."""

    def to_manifest(self) -> dict[str, Any]:
        """Return plain values under their YAML names, without empty texts, lists and objects."""
        manifest: dict[str, Any] = _without_empty(super().to_manifest())
        return manifest


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _without_empty(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in ("", [], {})}
    return [_without_empty(item) for item in value] if isinstance(value, list) else value


class KubernetesObject(ApiModel):
    """Base class of the kinds. A kind adds the fields `kind`, `spec` and `status`."""

    api_version: ApiVersion = "afresh.dev/v1alpha1"
    metadata: ObjectMeta

    def to_manifest(self) -> dict[str, Any]:
        """Return the manifest, without metadata fields that are empty."""
        metadata = self.metadata.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return super().to_manifest() | {"metadata": metadata}


DnsName = Annotated[
    str,
    Field(max_length=253, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"),
]
"""The name of another object: lower-case letters, digits, '-' and '.'."""

"""What every model and every kind shares: the YAML form, and the object's metadata.

Knows no kind.
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
    """A part of an object: frozen, snake_case here and camelCase in YAML.

    Fields that this version does not know are ignored, so that a newer object can be read; the
    API server refuses them in what users write. Raises pydantic's ValidationError, which names the
    field, for anything that the CRD refuses too.
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
        """Return plain JSON values under their YAML names; what is None is left out."""
        return self.model_dump(mode="json", by_alias=True, exclude_none=True)


class ManagedFields(ApiModel):
    """Which fields somebody wrote last: the API server's own note."""

    manager: str = ""
    time: AwareDatetime | None = None
    subresource: str = ""
    fields_v1: dict[str, Any] = Field(default_factory=dict, alias="fieldsV1")

    @property
    def is_of_users(self) -> bool:
        """Whether it is of the object itself and not of its status."""
        return not self.subresource


class ObjectMeta(ApiModel):
    """The part of an object's metadata that Afresh reads; empty where the object has none."""

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
    """A status: what there is nothing to say of is absent in its manifest."""

    def to_manifest(self) -> dict[str, Any]:
        """Return plain values under their YAML names, without empty texts, lists and objects."""
        told: dict[str, Any] = _told(super().to_manifest())
        return told


def _told(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: _told(item) for key, item in value.items()}
        return {key: item for key, item in kept.items() if item not in ("", [], {})}
    return [_told(item) for item in value] if isinstance(value, list) else value


class KubernetesObject(ApiModel):
    """A whole object. A kind adds `kind`, `spec` and `status`."""

    api_version: ApiVersion = "afresh.dev/v1alpha1"
    metadata: ObjectMeta

    def to_manifest(self) -> dict[str, Any]:
        """Return the manifest; metadata that is empty is left out."""
        metadata = self.metadata.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        return super().to_manifest() | {"metadata": metadata}


DnsName = Annotated[
    str,
    Field(max_length=253, pattern=r"^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$"),
]
"""The name of another object: lower-case letters, digits, '-' and '.'."""

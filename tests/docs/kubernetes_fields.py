"""Fields of Kubernetes' own objects that its client does not know: no server takes them."""

import re
from typing import Any

from kubernetes import client

_CONTAINER = re.compile(r"(?:List\[(?P<item>.+)\]|Dict\[str, (?P<value>.+)\])$")


def model_of(manifest: dict[str, Any]) -> type | None:
    """The client's model of a manifest; None for a kind that Kubernetes has not."""
    version = manifest["apiVersion"].rpartition("/")[2]
    found: type | None = getattr(client, version.capitalize() + manifest["kind"], None)
    return found


def unknown_fields(value: Any, kind: str, where: str) -> list[str]:
    """The paths below `where` of what `kind`, the name of a model or a container, does not have."""
    if match := _CONTAINER.match(kind):
        inner = match["item"] or match["value"]
        pairs = enumerate(value) if match["item"] else value.items()
        return [
            path for key, item in pairs for path in unknown_fields(item, inner, f"{where}.{key}")
        ]
    model = getattr(client, kind, None)
    if model is None or not isinstance(value, dict):
        return []
    kinds = {model.attribute_map[name]: type_ for name, type_ in model.openapi_types.items()}
    return [
        path
        for key, item in value.items()
        for path in (
            unknown_fields(item, kinds[key], f"{where}.{key}")
            if key in kinds
            else [f"{where}.{key}"]
        )
    ]

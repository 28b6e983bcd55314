"""JSON Schemas (draft 2020-12) of the kinds, for editors.

    python -m afresh.api.json_schema [--check] DIR

writes one file per kind into DIR. With --check, it writes nothing, lists the files that are not
current and exits with 1 if there are any. The schemas are made from the CRDs, so that both say the
same. An editor has no CEL: of the rules it gets those about one text. `afresh validate` has all.
"""

import json
import re
import sys
from typing import Any

from afresh.api.crd import KINDS, KindNames, build_crd
from afresh.api.generated_files import write_or_check
from afresh.api.meta import API_GROUP, API_VERSION
from afresh.api.rules import LIST_TYPE, VALIDATIONS
from afresh.api.schema import Schema

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_KEPT = frozenset(
    {
        "description", "type", "default", "enum", "format", "pattern", "minLength", "maxLength",
        "minimum", "maximum", "minItems", "maxItems", "maxProperties", "required",
    }
)  # fmt: skip
_INT_OR_STRING = "x-kubernetes-int-or-string"
_PRESERVE_UNKNOWN = "x-kubernetes-preserve-unknown-fields"
_MATCHES = re.compile(r"(!?)self\.matches\(r'(.*)'\)", re.DOTALL)
_LABELS = {"type": "object", "additionalProperties": {"type": "string"}}


def editor_schema(kind: KindNames) -> Schema:
    """Return the JSON Schema of what people write of the kind: everything but its status."""
    version = build_crd(kind)["spec"]["versions"][0]
    structural = version["schema"]["openAPIV3Schema"]
    own = {
        "apiVersion": {"description": "The version of the API.", "const": _API},
        "kind": {"description": "The kind of the object.", "const": kind.name},
        "metadata": _METADATA,
        "spec": _converted(structural["properties"]["spec"]),
        "status": {"description": "Written by the operator.", "type": "object"},
    }
    return {
        "$schema": DIALECT,
        "title": kind.name,
        "description": structural["description"],
        "type": "object",
        "required": ["apiVersion", "kind", "metadata", "spec"],
        "properties": own,
        "additionalProperties": False,
    }


def file_name(kind: KindNames) -> str:
    """Return the name of the kind's file."""
    return f"{kind.name.lower()}.schema.json"


def render_schema(kind: KindNames) -> str:
    """Return the text of the kind's file."""
    return json.dumps(editor_schema(kind), indent=2, ensure_ascii=False) + "\n"


def main(arguments: list[str] | None = None) -> int:
    """Write or check the files; return the exit code."""
    texts = {file_name(kind): render_schema(kind) for kind in KINDS}
    return write_or_check("afresh.api.json_schema", __doc__, texts, arguments)


_API = f"{API_GROUP}/{API_VERSION}"
_METADATA: Schema = {
    "description": "Metadata of the object, as of every Kubernetes object.",
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"description": "The name of the object.", "type": "string", "minLength": 1},
        "namespace": {"description": "The namespace; absent: the current one.", "type": "string"},
        "labels": {"description": "Labels, to select objects by."} | _LABELS,
        "annotations": {"description": "Further information, as texts."} | _LABELS,
    },
}


def _converted(schema: Schema) -> Schema:
    converted = {key: value for key, value in schema.items() if key in _KEPT}
    if schema.get(_INT_OR_STRING):
        converted["type"] = ["integer", "string"]
    if schema.get(LIST_TYPE) == "set":
        converted["uniqueItems"] = True
    conditions = [found for rule in schema.get(VALIDATIONS, ()) if (found := _condition(rule))]
    if conditions:
        converted["allOf"] = conditions
    return converted | _nested(schema)


def _nested(schema: Schema) -> Schema:
    nested: Schema = {}
    for key in ("items", "additionalProperties"):
        if key in schema:
            nested[key] = _converted(schema[key])
    if "properties" in schema:
        fields: dict[str, Any] = schema["properties"]
        nested["properties"] = {name: _converted(field) for name, field in fields.items()}
        nested.setdefault("additionalProperties", bool(schema.get(_PRESERVE_UNKNOWN)))
    return nested


def _condition(rule: dict[str, str]) -> Schema | None:
    """Return what an editor can check of a rule; None if it is not about one text.

    Editors show `errorMessage`; validators ignore it.
    """
    found = _MATCHES.fullmatch(rule["rule"])
    if not found:
        return None
    # JavaScript, by whose syntax patterns are read, has no escaped quotation mark.
    pattern = {"pattern": found[2].replace('\\"', '"')}
    condition: Schema = {"not": pattern} if found[1] else pattern
    return condition | {"errorMessage": rule["message"]}


if __name__ == "__main__":
    sys.exit(main())

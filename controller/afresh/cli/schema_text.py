"""The JSON Schema of a kind as text. Pure."""

from afresh.api.crd import KINDS
from afresh.api.json_schema import editor_schema, render_schema
from afresh.cli.forms import as_yaml
from afresh.cli.requests import SchemaForm


def write_schema(kind: str, form: SchemaForm) -> str:
    """Return the schema of the kind of that name."""
    found = next(item for item in KINDS if item.name == kind)
    return as_yaml(editor_schema(found)) if form is SchemaForm.YAML else render_schema(found)

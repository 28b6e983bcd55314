"""The CustomResourceDefinitions as text. Pure."""

import json

from afresh.api.crd import KINDS, build_crd, render
from afresh.cli.looks import ManifestForm


def write(form: ManifestForm) -> str:
    """Return all of them as YAML documents, or as one JSON List."""
    if form is ManifestForm.JSON:
        items = [build_crd(kind) for kind in KINDS]
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": items}, indent=2) + "\n"
    return "---\n".join(render(kind) for kind in KINDS)

"""The CustomResourceDefinitions, generated from the models.

    python -m afresh.api.crd [--check] DIR

writes one file per kind into DIR. With --check, it writes nothing, lists the files that are not
current and exits with 1 if there are any. This module owns the names and printer columns of the
kinds; the models own their fields.
"""

import sys
from dataclasses import dataclass
from typing import Any

import yaml

from afresh.api.agent_class import AgentClass
from afresh.api.generated_files import write_or_check
from afresh.api.meta import API_GROUP, API_VERSION, ApiModel, KubernetesObject
from afresh.api.rules import VALIDATIONS
from afresh.api.schema import Schema, SchemaError, structural_schema, without_defaults
from afresh.api.subtask import SubtaskObject
from afresh.api.work_package import WorkPackage

_HEADER = (
    "# Generated from the models in afresh.api by `python -m afresh.api.crd`; not to be edited.\n"
)
_TEXT = {"type": "string"}


@dataclass(frozen=True, slots=True, kw_only=True)
class KindNames:
    """Names and printer columns of a kind. A column is (name, type, JSON path)."""

    name: str
    model: type[KubernetesObject]
    plural: str
    short_name: str
    scope: str
    columns: tuple[tuple[str, str, str], ...]
    wide_columns: tuple[tuple[str, str, str], ...] = ()
    selectable_fields: tuple[str, ...]


_AGE = ("Age", "date", ".metadata.creationTimestamp")

KINDS = (
    KindNames(
        name="AgentClass",
        model=AgentClass,
        plural="agentclasses",
        short_name="ac",
        scope="Cluster",
        columns=(
            ("Adapter", "string", ".spec.adapter"),
            ("Model", "string", ".spec.model"),
            ("Image", "string", ".spec.image"),
            ("Ready", "string", '.status.conditions[?(@.type=="Ready")].status'),
            _AGE,
        ),
        selectable_fields=(".spec.adapter",),
    ),
    KindNames(
        name="Subtask",
        model=SubtaskObject,
        plural="subtasks",
        short_name="st",
        scope="Namespaced",
        columns=(
            ("ID", "string", ".spec.id"),
            ("Marker", "string", ".status.marker"),
            ("Phase", "string", ".status.phase"),
            ("Reason", "string", ".status.reason"),
            ("Attempts", "integer", ".status.attemptCount"),
            ("Duration", "string", ".status.duration"),
            ("Cost", "string", ".status.cost"),
            ("Started", "date", ".status.startTime"),
        ),
        wide_columns=(
            ("Title", "string", ".spec.title"),
            ("Commit", "string", ".status.commit"),
            ("Message", "string", ".status.message"),
        ),
        selectable_fields=(".spec.workPackageName", ".status.phase"),
    ),
    KindNames(
        name="WorkPackage",
        model=WorkPackage,
        plural="workpackages",
        short_name="wp",
        scope="Namespaced",
        columns=(
            ("Phase", "string", ".status.phase"),
            ("Progress", "string", ".status.progress"),
            ("Current", "string", ".status.current"),
            ("Reason", "string", ".status.reason"),
            ("Cost", "string", ".status.cost"),
            _AGE,
        ),
        wide_columns=(
            ("Class", "string", ".spec.agentClassName"),
            ("Branch", "string", ".status.branch"),
            ("Duration", "string", ".status.duration"),
            ("Message", "string", '.status.conditions[?(@.type=="Ready")].message'),
        ),
        selectable_fields=(".spec.agentClassName", ".status.phase"),
    ),
)


class _PlainDumper(yaml.SafeDumper):
    """Writes no anchors and aliases, because people read the schema."""

    def ignore_aliases(self, data: object) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        return True


def build_crd(kind: KindNames) -> dict[str, Any]:
    """Return the CustomResourceDefinition of one kind."""
    version = {
        "name": API_VERSION,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            *(
                {"name": name, "type": type_, "jsonPath": path}
                for name, type_, path in kind.columns
            ),
            *(
                {"name": name, "type": type_, "jsonPath": path, "priority": 1}
                for name, type_, path in kind.wide_columns
            ),
        ],
        "selectableFields": [{"jsonPath": path} for path in kind.selectable_fields],
        "schema": {"openAPIV3Schema": _object_schema(kind.model)},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{kind.plural}.{API_GROUP}"},
        "spec": {
            "group": API_GROUP,
            "scope": kind.scope,
            "names": {
                "kind": kind.name,
                "listKind": f"{kind.name}List",
                "plural": kind.plural,
                "singular": kind.name.lower(),
                "shortNames": [kind.short_name],
                "categories": ["afresh"],
            },
            "versions": [version],
        },
    }


def render(kind: KindNames) -> str:
    """Return the text of the kind's file."""
    return _HEADER + yaml.dump(
        build_crd(kind), Dumper=_PlainDumper, sort_keys=False, width=100, allow_unicode=True
    )


def main(arguments: list[str] | None = None) -> int:
    """Write or check the files; return the exit code."""
    texts = {f"{kind.plural}.yaml": render(kind) for kind in KINDS}
    return write_or_check("afresh.api.crd", __doc__, texts, arguments)


def _object_schema(model: type[KubernetesObject]) -> Schema:
    spec, status = (_part(model, name) for name in ("spec", "status"))
    own = {"apiVersion": _TEXT, "kind": _TEXT, "metadata": {"type": "object"}}
    schema: Schema = {
        "description": " ".join((model.__doc__ or "").split()),
        "type": "object",
        "required": ["spec"],
        "properties": own | {"spec": spec, "status": without_defaults(status)},
    }
    rules = [rule.as_validation() for rule in model.RULES]
    return schema | ({VALIDATIONS: rules} if rules else {})


def _part(model: type[KubernetesObject], name: str) -> Schema:
    annotation = model.model_fields[name].annotation
    if not isinstance(annotation, type) or not issubclass(annotation, ApiModel):
        raise SchemaError(f"{model.__name__}.{name} is not a model")
    return structural_schema(annotation)


if __name__ == "__main__":
    sys.exit(main())

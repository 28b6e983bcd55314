"""One bad manifest: a small change of a good one, with what the refusal must say."""

from dataclasses import dataclass
from typing import Any

from tests.api.manifests import Manifest, changed, entry, minimal_class, minimal_package


@dataclass(frozen=True, kw_only=True)
class Refusal:
    """`field` is where the API server reports it; `sentence` is ours, and the models' too."""

    id: str
    changes: dict[str, Any]
    field: str
    sentence: str = ""
    of_class: bool = False

    def manifest(self) -> Manifest:
        good = minimal_class("refused") if self.of_class else minimal_package("refused")
        return changed(good, self.changes)


def of_package(id_: str, changes: dict[str, Any], field: str, sentence: str = "") -> Refusal:
    return Refusal(id=id_, changes=changes, field=field, sentence=sentence)


def of_class(id_: str, changes: dict[str, Any], field: str, sentence: str = "") -> Refusal:
    return Refusal(id=id_, changes=changes, field=field, sentence=sentence, of_class=True)


def subtasks(*items: Manifest) -> dict[str, Any]:
    return {"spec.subtasks": list(items)}


def first(**fields: Any) -> dict[str, Any]:
    return subtasks(entry("T001", **fields))

"""Which objects a command shows. Knows no connection."""

from dataclasses import dataclass

from afresh.kube.resources import Resource


@dataclass(frozen=True, slots=True)
class Collection:
    """The objects of a kind in a namespace (None: all) that a field and a label selector match."""

    resource: Resource
    namespace: str | None
    fields: str = ""
    labels: str = ""

    @property
    def selectors(self) -> dict[str, str]:
        """The selectors of a request for it."""
        given = {"fieldSelector": self.fields, "labelSelector": self.labels}
        return {key: value for key, value in given.items() if value}

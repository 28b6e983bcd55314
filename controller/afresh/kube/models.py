"""Parses stored objects into the API's models. Makes no requests."""

from typing import TypeVar

from pydantic import ValidationError

from afresh.api.meta import KubernetesObject
from afresh.kube.errors import UnreadableError
from afresh.kube.resources import Manifest

K = TypeVar("K", bound=KubernetesObject)


def parse(kind: type[K], raw: Manifest) -> K:
    """Return the object as a model of `kind`. Raises UnreadableError if it is invalid."""
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        name = raw["metadata"]["name"]
        raise UnreadableError(
            f"The {kind.__name__} {name} cannot be read: {where}: {first['msg']}; correct it."
        ) from error

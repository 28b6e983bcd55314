"""What a model has against the values of an object, in the API server's words. Pure."""

from collections.abc import Iterator
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from afresh.api.meta import KubernetesObject
from afresh.cli.manifest.findings import Path, meant, written_value
from afresh.cli.manifest.raw_view import model_in

# By pydantic's kind of error. {value} is what is written; the rest is the error's context.
_SENTENCES = {
    "missing": "Required value",
    "string_too_long": "Too long: may not be more than {max_length} characters",
    "string_too_short": "Invalid value: {value}: should be at least {min_length} characters long",
    "string_pattern_mismatch": "Invalid value: {value}: should match '{pattern}'",
    "greater_than_equal": "Invalid value: {value}: should be greater than or equal to {ge}",
    "less_than_equal": "Invalid value: {value}: should be less than or equal to {le}",
}
_CHOICES = ("enum", "literal_error")
# The models count only good items.
_OF_THE_SHAPE = ("too_long", "too_short")


def value_faults(model: type[KubernetesObject], data: dict[str, Any]) -> Iterator[tuple[Path, str]]:
    """Yield what is wrong with each single value; rules of whole objects are not asked for."""
    rules = {rule.message for part in _models(model) for rule in part.RULES}
    try:
        model.model_validate(data)
    except ValidationError as error:
        for found in error.errors(include_url=False):
            message = _sentence(found)
            told = message in rules or message.startswith("duplicate value")
            if not told and found["type"] not in _OF_THE_SHAPE:
                yield found["loc"], message


def _models(model: type[Any]) -> Iterator[type[Any]]:
    yield model
    for info in model.model_fields.values():
        inner = model_in(info.annotation)
        if inner:
            yield from _models(inner)


def _sentence(found: ErrorDetails) -> str:
    context = found.get("ctx", {})
    if found["type"] == "value_error":
        return str(context["error"])
    value = written_value(found["input"])
    if found["type"] in _CHOICES:
        choices = _choices(str(context["expected"]))
        listed = ", ".join(f'"{choice}"' for choice in choices)
        alike = meant(str(found["input"]), choices)
        return f"Unsupported value: {value}: supported values: {listed}{alike}"
    sentence = _SENTENCES.get(found["type"])
    if sentence:
        return sentence.format(value=value, **context)
    return f"Invalid value: {value}: {found['msg']}"


def _choices(expected: str) -> list[str]:
    """Return the choices of "'a', 'b' or 'c'"."""
    return [part.strip("' ") for part in expected.replace(" or ", ",").split(",")]

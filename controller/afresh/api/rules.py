"""Validation that is declared once and enforced twice: by the API server as CEL, and by the models.

This module owns the three kinds of declaration: the `Rule` of a model, the `Matching` of a string,
and the list types `MapBy` and `UniqueItems`. It does not know any model.
"""

import bisect
import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic.alias_generators import to_camel
from pydantic_core import CoreSchema, core_schema

from afresh.contract.sentences import fitted

VALIDATIONS = "x-kubernetes-validations"
LIST_TYPE = "x-kubernetes-list-type"
LIST_MAP_KEYS = "x-kubernetes-list-map-keys"


def camel_case(name: str) -> str:
    """Return the YAML name of a field: `base_ref` becomes `baseRef`, `cost_usd` `costUSD`."""
    return to_camel(name).replace("Usd", "USD")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A condition on one object: `cel` for the API server, `holds` for the models.

    The message names the field and what to do. A rule about a change of the object has
    `allows(old, new)` in place of `holds`. `field_path` is the field for which the API server
    reports the rule; None means the object itself.
    """

    cel: str
    message: str
    holds: Callable[[Any], bool] | None = None
    allows: Callable[[Any, Any], bool] | None = None
    field_path: str | None = None

    def as_validation(self) -> dict[str, str]:
        """Return the rule as an entry of `x-kubernetes-validations`."""
        entry = {"rule": self.cel, "message": self.message}
        return entry | ({"fieldPath": self.field_path} if self.field_path else {})


class _Checked(ABC):
    """A constraint that the models check after a value has been parsed."""

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self._checked, handler(source))

    @abstractmethod
    def _checked(self, value: Any, /) -> Any:
        """Return the value. Raises ValueError with the rule's message if the rule is broken."""


class Matching(_Checked):
    """A string in which `pattern` is found, or with `refuse` is not found.

    The pattern must use only syntax that RE2 and Python share. `$` matches only at the end of the
    text in both. The pattern must not contain `'`.
    """

    def __init__(self, pattern: str, message: str, *, refuse: bool = False) -> None:
        self.rule = Rule(cel=f"{'!' if refuse else ''}self.matches(r'{pattern}')", message=message)
        self._regex = re.compile(pattern.replace("$", r"\Z"), re.ASCII)
        self._refuse = refuse

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return _with_rule(handler(schema), self.rule)

    def _checked(self, text: str) -> str:
        if bool(self._regex.search(text)) is self._refuse:
            raise ValueError(self.rule.message)
        return text


class AtMostBytes(_Checked):
    """A string of at most `limit` bytes of UTF-8; `maxLength` counts characters."""

    def __init__(self, limit: int, message: str) -> None:
        self.rule = Rule(cel=f"size(bytes(self)) <= {limit}", message=message)
        self._limit = limit

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return _with_rule(handler(schema) | {"maxLength": self._limit}, self.rule)

    def _checked(self, text: str) -> str:
        if len(text.encode()) > self._limit:
            raise ValueError(self.rule.message)
        return text


class WordByWord(_Checked):
    """A command whose first item is only the name of a program.

    A blank in the first item is an error: it means that the command was written for a shell.
    """

    _MESSAGE = 'write each word as an item of its own, such as ["make", "test"]'

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        words = """self[0].replace(' ', '", "')"""  # split and join cost too much
        rule = Rule(cel="!self[0].contains(' ')", message=self._MESSAGE).as_validation()
        message = f"""'write each word as an item of its own: ["' + {words} + '"]'"""
        return _with_rules(handler(schema), rule | {"messageExpression": message})

    def _checked(self, words: tuple[str, ...]) -> tuple[str, ...]:
        if " " in words[0]:
            apart = '", "'.join(words[0].split(" "))
            raise ValueError(f'write each word as an item of its own: ["{apart}"]')
        return words


class Clipped:
    """A text of the status, cut to `limit` bytes as stored, so that no status becomes too long.

    Without `keep_end`, the text is a message, and the part that says what to do is kept. With
    `keep_end`, the end of the text is kept, which is the important part of a log.
    """

    def __init__(self, limit: int, *, keep_end: bool = False) -> None:
        self._limit = limit
        self._keep_end = keep_end

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        return core_schema.no_info_after_validator_function(self.cut, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return handler(schema) | {"maxLength": self._limit}

    def cut(self, text: str) -> str:
        """Return the text, cut to the limit."""
        if not self._keep_end:
            return fitted(text, self._limit, stored_size)
        if stored_size(text) <= self._limit:
            return text
        return text[len(text) - _fitting(text[::-1], self._limit) :]


def stored_size(text: str) -> int:
    """Return how many bytes the API server stores for `text`.

    It stores JSON in which the characters with a meaning in HTML are escaped.
    """
    plain = json.dumps(text, ensure_ascii=False).encode(errors="replace")
    return (
        len(plain) - 2 + 5 * sum(map(text.count, "<>&")) + 3 * sum(map(text.count, "\u2028\u2029"))
    )


def _fitting(text: str, limit: int) -> int:
    """Return how many of the first characters fit into `limit` bytes when stored."""
    sizes = range(1, len(text) + 1)
    return bisect.bisect_right(sizes, limit, key=lambda count: stored_size(text[:count]))


class MapBy(_Checked):
    """A list that is merged like a map. No two items may be equal in all of the key attributes."""

    def __init__(self, *keys: str) -> None:
        self._keys = keys

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        keys = [camel_case(key) for key in self._keys]
        return handler(schema) | {LIST_TYPE: "map", LIST_MAP_KEYS: keys}

    def _checked(self, items: tuple[Any, ...]) -> tuple[Any, ...]:
        _refuse_duplicates(tuple(getattr(item, key) for key in self._keys) for item in items)
        return items


class UniqueItems(_Checked):
    """A list of distinct strings that is merged like a set."""

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        return handler(schema) | {LIST_TYPE: "set"}

    def _checked(self, items: tuple[str, ...]) -> tuple[str, ...]:
        _refuse_duplicates((item,) for item in items)
        return items


def _with_rule(schema: dict[str, Any], rule: Rule) -> dict[str, Any]:
    return _with_rules(schema, rule.as_validation())


def _with_rules(schema: dict[str, Any], *rules: dict[str, str]) -> dict[str, Any]:
    return schema | {VALIDATIONS: [*schema.get(VALIDATIONS, []), *rules]}


def _refuse_duplicates(keys: Iterable[tuple[str, ...]]) -> None:
    seen: set[tuple[str, ...]] = set()
    for key in keys:
        if key in seen:
            raise ValueError(f"duplicate value: {', '.join(map(repr, key))}; remove one of the two")
        seen.add(key)

"""What the gateway must know of a request for the model before it may pass.

Owns the values that requests are reduced to. Knows no provider; each has a file of its own. Pure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What a request asks of the model, as far as it costs.

    `output_tokens`: the most that one answer may take; None where the request leaves that to the
    provider. `answers`: how many are asked for at once. `is_plain`: no two readers can take these
    differently, and it costs what the price list says.
    """

    model: str = ""
    output_tokens: int | None = None
    answers: int = 1
    is_streamed: bool = False
    is_plain: bool = True


class RequestReader(Protocol):
    """Reads and bounds the requests of one API. `asked` is a request's JSON body."""

    def wish(self, path: str, asked: Mapping[str, Any]) -> Wish:
        """Return what a request asks for."""
        ...

    def limit_output(self, path: str, asked: dict[str, Any], wish: Wish, tokens: int) -> None:
        """Let every answer take at most so many tokens, by whatever name, at the usual price."""
        ...

    def outside(self, asked: Mapping[str, Any]) -> Iterator[str]:
        """Yield the names of what has the provider reach out: tools of its own, and addresses."""
        ...


def positive(value: object) -> int | None:
    """Return a count that a request gives; None for anything that is none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 16:
        value = int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return value if isinstance(value, int) and value > 0 else None


def lowest(*values: object) -> int | None:
    """Return the lowest of the counts that a request gives in several places."""
    return min((count for value in values if (count := positive(value))), default=None)


def is_one_count(*values: object) -> bool:
    """Whether what a request gives in several places is one number, and the same for any reader."""
    given = [value for value in values if value is not None]
    return all(type(value) is int for value in given) and len(set(given)) <= 1


def objects_in(value: object) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of a list."""
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            yield item


def text_of(value: object) -> str:
    """Return a text as it is, and none in the place of anything else."""
    return value if isinstance(value, str) else ""

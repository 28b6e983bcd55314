"""What the gateway must know about a request to the model before it is forwarded.

Owns the values to which requests are reduced. Knows no provider; each has a file of its own. Pure.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class GenerationParameters:
    """The parameters of a request that determine its cost.

    `output_tokens` is the maximum of one answer; None if the request leaves it to the provider.
    `answers` is how many answers are requested at once. `is_plain`: every reader understands these
    parameters alike, and the request costs what the price list says.
    """

    model: str = ""
    output_tokens: int | None = None
    answers: int = 1
    is_streamed: bool = False
    is_plain: bool = True


class RequestReader(Protocol):
    """Reads and limits the requests of one API. `asked` is a request's JSON body."""

    def parameters(self, path: str, asked: Mapping[str, Any]) -> GenerationParameters:
        """Return the parameters of a request."""
        ...

    def limit_output(
        self, path: str, asked: dict[str, Any], parameters: GenerationParameters, tokens: int
    ) -> None:
        """Limit each answer to `tokens` tokens, under every name, and drop surcharge options."""
        ...

    def outside(self, asked: Mapping[str, Any]) -> Iterator[str]:
        """Yield the names of the parts that make the provider use other services.

        These are the provider's own tools, and addresses that it would read.
        """
        ...


def positive(value: object) -> int | None:
    """Return `value` as a positive integer; None if it is not one in any accepted notation."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 16:
        value = int(value)
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        value = int(value)
    return value if isinstance(value, int) and value > 0 else None


def lowest(*values: object) -> int | None:
    """Return the lowest positive count among `values`; None if there is none."""
    return min((count for value in values if (count := positive(value))), default=None)


def is_one_count(*values: object) -> bool:
    """Whether the values that are given are all the same integer, which any reader understands."""
    given = [value for value in values if value is not None]
    return all(type(value) is int for value in given) and len(set(given)) <= 1


def objects_in(value: object) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of a list."""
    for item in value if isinstance(value, list) else ():
        if isinstance(item, dict):
            yield item


def text_of(value: object) -> str:
    """Return `value` if it is a string; otherwise an empty string."""
    return value if isinstance(value, str) else ""

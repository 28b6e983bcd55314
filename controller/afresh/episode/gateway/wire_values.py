"""Values as providers write them, which may be anything: read without an error.

Knows no provider. Pure.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any
from urllib.parse import parse_qsl, urlencode

MOST_TOKENS = 10**9


def mapping_of(value: object) -> Mapping[str, Any]:
    """Return a JSON object as it is, and nothing in the place of anything else."""
    return value if isinstance(value, dict) else {}


def count_of(value: object) -> int | None:
    """Return a count of tokens; None for what is none.

    A count that no answer can have is cut: a Report has room for so many digits, and Kubernetes
    for no more than 64 bits.
    """
    return min(value, MOST_TOKENS) if type(value) is int and value >= 0 else None


def number_of(text: str) -> float | None:
    """Return a decimal number without a sign, such as a Retry-After; None if it is no such."""
    return float(text) if text.replace(".", "", 1).isdecimal() else None


def kept_query(query: str, names: AbstractSet[str]) -> str:
    """Return a query, written anew, of which only parts with these names are left."""
    return urlencode([(name, value) for name, value in parse_qsl(query) if name in names])

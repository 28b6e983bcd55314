"""Reads values from providers' answers, which may have any type, without raising errors.

Knows no provider. Pure.
"""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from typing import Any
from urllib.parse import parse_qsl, urlencode

MOST_TOKENS = 10**9


def mapping_of(value: object) -> Mapping[str, Any]:
    """Return `value` if it is a JSON object; otherwise an empty one."""
    return value if isinstance(value, dict) else {}


def count_of(value: object) -> int | None:
    """Return `value` if it is a count of tokens, at most MOST_TOKENS; otherwise None.

    The limit exists because a Report has room for a limited number of digits, and Kubernetes for 64
    bits.
    """
    return min(value, MOST_TOKENS) if type(value) is int and value >= 0 else None


def number_of(text: str) -> float | None:
    """Return the value of an unsigned decimal number, such as a Retry-After; None for others."""
    return float(text) if text.replace(".", "", 1).isdecimal() else None


def kept_query(query: str, names: AbstractSet[str]) -> str:
    """Return `query` reduced to the parameters with these names, and encoded again."""
    return urlencode([(name, value) for name, value in parse_qsl(query) if name in names])

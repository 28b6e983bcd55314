"""Values as providers write them, which may be anything: read without an error.

Knows no provider. Pure.
"""

from collections.abc import Mapping
from typing import Any


def mapping_of(value: object) -> Mapping[str, Any]:
    """Return a JSON object as it is, and nothing in the place of anything else."""
    return value if isinstance(value, dict) else {}


def number_of(text: str) -> float | None:
    """Return a decimal number without a sign, such as a Retry-After; None if it is no such."""
    return float(text) if text.replace(".", "", 1).isdecimal() else None

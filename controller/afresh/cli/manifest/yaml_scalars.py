"""The values of YAML's plain texts, as the API server's parser takes them. Pure.

That parser and PyYAML differ: for it `08:30` and `2026-01-01` are texts, `y` is true and `1e3` is a
number.
"""

import re

Scalar = str | int | float | bool | None

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_TRUE = frozenset({"y", "yes", "true", "on"})
_FALSE = frozenset({"n", "no", "false", "off"})
_INTEGER = re.compile(
    r"(?P<sign>[-+]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|0[bB](?P<bin>[01]+)|0[oO]?(?P<oct>[0-7]+)"
    r"|(?P<dec>0|[1-9][0-9]*))"
)
_FLOAT = re.compile(r"[-+]?([.][0-9]+|[0-9]+([.][0-9]*)?)([eE][-+]?[0-9]+)?")
_BASES = {"hex": 16, "bin": 2, "oct": 8, "dec": 10}
# Longer ones are no number that any field may have, and Python refuses to convert them.
_LONGEST_NUMBER = 100


def scalar_value(text: str) -> Scalar:
    """Return the value of a plain text."""
    if text in _NULLS:
        return None
    if text in {text.lower(), text.upper(), text.capitalize()}:
        if text.lower() in _TRUE:
            return True
        if text.lower() in _FALSE:
            return False
    if len(text) <= _LONGEST_NUMBER and (text[0].isdigit() or text[0] in "+-."):
        return _number(text)
    return text


def _number(text: str) -> Scalar:
    digits = text.replace("_", "")
    found = _INTEGER.fullmatch(digits)
    if found:
        for name, base in _BASES.items():
            if found[name]:
                return int(found["sign"] + found[name], base)
    if _FLOAT.fullmatch(digits):
        value = float(digits)
        return int(value) if value.is_integer() else value
    return text

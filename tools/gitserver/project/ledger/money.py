"""Amounts of money: cents inside the program, `12.50` outside."""

import re

_AMOUNT = re.compile(r"(?P<sign>[+-]?)(?P<units>\d+)(?:\.(?P<cents>\d\d))?")


def parse_amount(text: str) -> int:
    """Return the cents in `text`, such as `-12.50` or `3`."""
    match = _AMOUNT.fullmatch(text)
    if match is None:
        raise ValueError(f'"{text}" is not an amount; write it as 12.50')
    cents = int(match["units"]) * 100 + int(match["cents"] or 0)
    return -cents if match["sign"] == "-" else cents


def format_amount(cents: int) -> str:
    """Return `cents` with two decimals, such as `-12.50`."""
    sign = "-" if cents < 0 else ""
    return f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02}"

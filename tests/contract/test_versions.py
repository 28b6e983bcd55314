"""Operator and runner of different versions: what version 1 says is understood for ever."""

import json
from pathlib import Path

import pytest

from afresh.contract import codec
from afresh.contract.order import ORDER_VERSION, Order
from afresh.contract.report import REPORT_VERSION, Report

GOLDEN = Path(__file__).parent / "golden"
MESSAGES = [
    pytest.param("order-1.json", Order, ORDER_VERSION, id="an Order"),
    pytest.param("report-1.json", Report, REPORT_VERSION, id="a Report"),
]


@pytest.mark.parametrize(("name", "kind", "version"), MESSAGES)
def test_nothing_that_version_1_says_is_lost(
    name: str, kind: type[Order] | type[Report], version: int
) -> None:
    text = json.loads((GOLDEN / name).read_text())

    message = codec.decode(kind, text)
    understood = codec.encode(message)
    if version == 1:
        understood["version"] = 1
    assert message.version == text["version"] == 1
    assert understood == text

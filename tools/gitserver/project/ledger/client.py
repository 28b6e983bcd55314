"""A client of the HTTP API."""

import json
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from ledger.money import parse_amount
from ledger.transactions import Transaction


class Refused(Exception):
    """The server answered, and said no."""


class Client:
    """Talks to the ledger at `url`, such as `http://127.0.0.1:8000`."""

    def __init__(self, url: str) -> None:
        self._url = url.rstrip("/")

    def balances(self) -> dict[str, int]:
        """Return the cents in each account."""
        answer = self._send("GET", "/balances")
        return {account: parse_amount(amount) for account, amount in answer.items()}

    def record(self, transaction: Transaction) -> None:
        """Add `transaction` to the journal, or raise Refused."""
        self._send("POST", "/transactions", json.dumps(transaction.to_json()).encode())

    def _send(self, method: str, path: str, body: bytes | None = None) -> Any:
        request = Request(self._url + path, data=body, method=method)
        request.add_header("content-type", "application/json")
        try:
            with urlopen(request, timeout=10) as response:
                return json.load(response)
        except HTTPError as error:
            with error:
                raise Refused(json.load(error)["error"]) from error

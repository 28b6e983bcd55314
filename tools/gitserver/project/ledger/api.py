"""The HTTP API as a function: a Request goes in, a Response comes out, and nothing listens here."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ledger.journal import Journal
from ledger.money import format_amount
from ledger.transactions import Transaction


@dataclass(frozen=True, slots=True)
class Request:
    """What a client asks for. Header names are lower case."""

    method: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class Response:
    """A status, and a body of plain JSON values."""

    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


class Api:
    """Answers requests about one journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    def handle(self, request: Request) -> Response:
        """Return the answer to `request`; a bad request is an answer, too."""
        match request.method, request.path:
            case "GET", "/balances":
                balances = self._journal.balances().items()
                return Response(200, {name: format_amount(cents) for name, cents in balances})
            case "GET", "/transactions":
                return Response(200, [transaction.to_json() for transaction in self._journal])
            case "POST", "/transactions":
                return self._record(request.body)
        return Response(404, {"error": f"there is no {request.method} {request.path}"})

    def _record(self, body: bytes) -> Response:
        try:
            transaction = Transaction.from_json(json.loads(body))
        except ValueError as error:
            return Response(400, {"error": str(error)})
        self._journal.append(transaction)
        return Response(201, transaction.to_json())

import tempfile
import unittest
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ledger.api import Api, Request, Response
from ledger.journal import Journal
from ledger.token_store import TokenStore
from ledger.tokens import issue

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)


class GuardedApiTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.journal = Journal(Path(folder.name) / "ledger.jsonl")
        self.tokens = TokenStore(Path(folder.name) / "tokens.json")
        token, self.secret = issue("reports", DAY, NOW)
        self.tokens.add(token)

    def ask(self, authorization: str | None, now: datetime = NOW) -> Response:
        """Return the answer to a request for the balances."""
        headers = {} if authorization is None else {"authorization": authorization}
        api = Api(self.journal, self.tokens, clock=lambda: now)
        return api.handle(Request("GET", "/balances", headers))

    def test_a_good_token_is_let_in(self) -> None:
        self.assertEqual(self.ask(f"Bearer {self.secret}").status, 200)
        self.assertEqual(self.ask(f"bearer {self.secret}").status, 200)

    def test_anything_else_is_not_and_hears_what_is_needed(self) -> None:
        for authorization in (None, "", "Bearer ", "Bearer wrong", f"Basic {self.secret}"):
            with self.subTest(authorization):
                response = self.ask(authorization)

                self.assertEqual(response.status, 401)
                self.assertEqual(response.headers, {"www-authenticate": "Bearer"})

    def test_an_expired_token_is_not_let_in(self) -> None:
        self.assertEqual(self.ask(f"Bearer {self.secret}", now=NOW + DAY).status, 401)

    def test_a_refused_request_changes_nothing(self) -> None:
        api = Api(self.journal, self.tokens, clock=lambda: NOW)

        response = api.handle(Request("POST", "/transactions", body=b"{}"))

        self.assertEqual(response.status, 401)
        self.assertEqual(list(self.journal), [])

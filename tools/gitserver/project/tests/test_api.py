import json
import tempfile
import unittest
from pathlib import Path

from ledger.api import Api, Request
from ledger.journal import Journal
from tests.test_transactions import COFFEE


class ApiTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.journal = Journal(Path(folder.name) / "ledger.jsonl")
        self.api = Api(self.journal)

    def test_a_posted_transaction_is_recorded(self) -> None:
        body = json.dumps(COFFEE.to_json()).encode()
        response = self.api.handle(Request("POST", "/transactions", body=body))

        self.assertEqual(response.status, 201)
        self.assertEqual(list(self.journal), [COFFEE])

    def test_a_bad_transaction_is_refused_and_says_why(self) -> None:
        for body in (b"", b"{}", b'{"day": "tomorrow"}'):
            with self.subTest(body):
                response = self.api.handle(Request("POST", "/transactions", body=body))

                self.assertEqual(response.status, 400)
                self.assertTrue(response.body["error"])
        self.assertEqual(list(self.journal), [])

    def test_balances_are_written_as_amounts(self) -> None:
        self.journal.append(COFFEE)

        response = self.api.handle(Request("GET", "/balances"))

        self.assertEqual(response.body, {"assets:cash": "-12.50", "expenses:kitchen": "12.50"})

    def test_transactions_are_listed(self) -> None:
        self.journal.append(COFFEE)

        response = self.api.handle(Request("GET", "/transactions"))

        self.assertEqual(response.body, [COFFEE.to_json()])

    def test_an_unknown_path_is_not_found(self) -> None:
        self.assertEqual(self.api.handle(Request("DELETE", "/balances")).status, 404)

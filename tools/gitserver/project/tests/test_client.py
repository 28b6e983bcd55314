import tempfile
import threading
import unittest
from pathlib import Path

from ledger.api import Api
from ledger.client import Client, Refused
from ledger.journal import Journal
from ledger.server import ApiServer
from tests.test_transactions import COFFEE


class ClientTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.journal = Journal(self.folder / "ledger.jsonl")
        self.serve(Api(self.journal))

    def serve(self, api: Api) -> None:
        """Serve `api` until the test ends, and point a client at it."""
        server = ApiServer(api, port=0)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        self.url = f"http://127.0.0.1:{server.server_port}"
        self.client = Client(self.url)

    def test_a_recorded_transaction_reaches_the_journal(self) -> None:
        self.client.record(COFFEE)

        self.assertEqual(list(self.journal), [COFFEE])

    def test_balances_come_back_as_cents(self) -> None:
        self.journal.append(COFFEE)

        self.assertEqual(self.client.balances(), {"assets:cash": -1250, "expenses:kitchen": 1250})

    def test_a_refusal_carries_the_reason(self) -> None:
        with self.assertRaisesRegex(Refused, "there is no GET /nowhere/balances"):
            Client(self.url + "/nowhere").balances()

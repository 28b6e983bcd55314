import tempfile
import threading
import unittest
from pathlib import Path

from ledger.api import Api
from ledger.journal import Journal
from ledger.server import ApiServer
from ledger.token_store import TokenStore
from tests.test_cli import run_ledger


class TokenCommandsTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.tokens = self.folder / "tokens.json"

    def token(self, *arguments: str) -> tuple[int, str, str]:
        """Run a `ledger token` command on the test's own tokens."""
        return run_ledger(self.folder, "token", "--tokens", str(self.tokens), *arguments)

    def serve(self) -> str:
        """Serve the journal, guarded by the tokens, until the test ends."""
        journal = Journal(self.folder / "ledger.jsonl")
        server = ApiServer(Api(journal, TokenStore(self.tokens)), port=0)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        self.addCleanup(server.server_close)
        self.addCleanup(thread.join)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}"

    def test_an_issued_token_is_listed_without_its_secret(self) -> None:
        _, secret, _ = self.token("issue", "reports", "--days", "7")
        _, listed, _ = self.token("list")

        self.assertRegex(listed, r"^reports +until \d{4}-\d\d-\d\d\n$")
        self.assertNotIn(secret.strip(), listed)

    def test_an_issued_token_opens_the_server_and_a_revoked_one_does_not(self) -> None:
        run_ledger(self.folder, "add", "2026-03-01", "Coffee", "kitchen=12.50", "cash=-12.50")
        secret = self.folder / "reports.secret"
        secret.write_text(self.token("issue", "reports")[1])
        ask = ("balances", "--url", self.serve(), "--token-file", str(secret))

        let_in = run_ledger(self.folder, *ask)
        self.token("revoke", "reports")
        refused = run_ledger(self.folder, *ask)

        self.assertEqual(let_in, (0, "cash        -12.50\nkitchen      12.50\n", ""))
        self.assertEqual(refused, (1, "", "ledger: a valid token is needed\n"))

    def test_revoking_a_token_that_is_not_there_is_one_sentence(self) -> None:
        revoked = self.token("revoke", "reports")

        self.assertEqual(revoked, (1, "", 'ledger: there is no token "reports"\n'))

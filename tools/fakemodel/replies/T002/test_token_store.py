import tempfile
import unittest
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ledger.token_store import TokenStore
from ledger.tokens import issue

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)


class TokenStoreTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "tokens.json"
        self.store = TokenStore(self.path)

    def test_a_missing_file_is_an_empty_store(self) -> None:
        self.assertEqual(self.store.all(), [])
        self.assertIsNone(self.store.find("anything", NOW))

    def test_a_secret_finds_its_token_in_another_store_on_the_same_file(self) -> None:
        reports, secret = issue("reports", DAY, NOW)
        self.store.add(issue("backup", DAY, NOW)[0])
        self.store.add(reports)

        self.assertEqual(TokenStore(self.path).find(secret, NOW), reports)

    def test_an_expired_token_is_kept_but_not_found(self) -> None:
        reports, secret = issue("reports", DAY, NOW)
        self.store.add(reports)

        self.assertIsNone(self.store.find(secret, NOW + DAY))
        self.assertEqual(self.store.all(), [reports])

    def test_a_revoked_token_is_gone(self) -> None:
        reports, secret = issue("reports", DAY, NOW)
        self.store.add(reports)
        self.store.revoke("reports")

        self.assertIsNone(self.store.find(secret, NOW))
        with self.assertRaisesRegex(ValueError, 'no token "reports"'):
            self.store.revoke("reports")

    def test_a_name_is_given_once(self) -> None:
        self.store.add(issue("reports", DAY, NOW)[0])

        with self.assertRaisesRegex(ValueError, "revoke it first"):
            self.store.add(issue("reports", DAY, NOW)[0])

    def test_the_file_is_for_its_owner_alone_and_holds_no_secret(self) -> None:
        reports, secret = issue("reports", DAY, NOW)
        self.store.add(reports)

        self.assertEqual(self.path.stat().st_mode & 0o777, 0o600)
        self.assertNotIn(secret, self.path.read_text())

import tempfile
import unittest
from pathlib import Path

from ledger.journal import Journal
from tests.test_transactions import COFFEE


class JournalTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = Path(folder.name) / "ledger.jsonl"

    def test_a_missing_file_is_an_empty_journal(self) -> None:
        self.assertEqual(list(Journal(self.path)), [])
        self.assertEqual(Journal(self.path).balances(), {})

    def test_transactions_are_kept_in_order(self) -> None:
        Journal(self.path).append(COFFEE)
        Journal(self.path).append(COFFEE)

        self.assertEqual(list(Journal(self.path)), [COFFEE, COFFEE])

    def test_balances_add_up_the_postings(self) -> None:
        journal = Journal(self.path)
        journal.append(COFFEE)
        journal.append(COFFEE)

        self.assertEqual(journal.balances(), {"assets:cash": -2500, "expenses:kitchen": 2500})

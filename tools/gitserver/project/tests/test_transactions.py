import unittest
from datetime import date

from ledger.transactions import Posting, Transaction

COFFEE = Transaction(
    day=date(2026, 3, 1),
    description="Coffee beans",
    postings=(Posting("expenses:kitchen", 1250), Posting("assets:cash", -1250)),
)


class TransactionTest(unittest.TestCase):
    def test_json_survives_a_round_trip(self) -> None:
        self.assertEqual(Transaction.from_json(COFFEE.to_json()), COFFEE)

    def test_postings_that_do_not_balance_are_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "add up to 0.50, not to 0.00"):
            Transaction(COFFEE.day, "Odd", (Posting("a", 100), Posting("b", -50)))

    def test_a_single_posting_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "two postings or more"):
            Transaction(COFFEE.day, "Lonely", (Posting("a", 0),))

    def test_an_account_that_is_named_twice_is_refused(self) -> None:
        with self.assertRaisesRegex(ValueError, "each account once"):
            Transaction(COFFEE.day, "Twice", (Posting("a", 100), Posting("a", -100)))

    def test_json_of_another_shape_is_refused(self) -> None:
        half: dict[str, object] = {"day": "2026-03-01", "description": "Half"}
        shapes: list[object] = [None, [], {}, half, {**half, "postings": 1}]
        for data in shapes:
            with self.subTest(data), self.assertRaises(ValueError):
                Transaction.from_json(data)

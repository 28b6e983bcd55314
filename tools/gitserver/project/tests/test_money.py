import unittest

from ledger.money import format_amount, parse_amount


class MoneyTest(unittest.TestCase):
    def test_amounts_survive_a_round_trip(self) -> None:
        for text in ("0.00", "12.50", "-12.50", "-0.05", "1000000.01"):
            with self.subTest(text):
                self.assertEqual(format_amount(parse_amount(text)), text)

    def test_cents_may_be_left_out(self) -> None:
        self.assertEqual(parse_amount("3"), 300)

    def test_anything_else_is_refused(self) -> None:
        for text in ("", "12.5", "1,000.00", "12.50 EUR", "1e3"):
            with self.subTest(text), self.assertRaisesRegex(ValueError, "write it as 12.50"):
                parse_amount(text)

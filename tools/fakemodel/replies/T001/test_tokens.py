import unittest
from datetime import UTC, datetime, timedelta

from ledger.tokens import issue, verify

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
DAY = timedelta(days=1)


class TokenTest(unittest.TestCase):
    def test_the_secret_of_a_token_is_accepted(self) -> None:
        token, secret = issue("reports", DAY, NOW)

        self.assertTrue(verify(token, secret, NOW))

    def test_any_other_secret_is_refused(self) -> None:
        token, secret = issue("reports", DAY, NOW)
        _, other = issue("reports", DAY, NOW)

        for wrong in ("", other, secret[:-1], secret + "x", token.digest):
            with self.subTest(wrong):
                self.assertFalse(verify(token, wrong, NOW))

    def test_a_token_is_good_until_the_moment_it_expires(self) -> None:
        token, secret = issue("reports", DAY, NOW)

        self.assertTrue(verify(token, secret, NOW + DAY - timedelta(seconds=1)))
        self.assertFalse(verify(token, secret, NOW + DAY))

    def test_a_token_does_not_hold_its_secret(self) -> None:
        token, secret = issue("reports", DAY, NOW)

        self.assertNotIn(secret, repr(token))

"""The journal file: one transaction a line, only ever appended to."""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from ledger.transactions import Transaction


class Journal:
    """Transactions in a file of JSON lines. A file that is not there is an empty journal."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __iter__(self) -> Iterator[Transaction]:
        """Yield the transactions, oldest first."""
        if not self._path.exists():
            return
        with self._path.open(encoding="utf-8") as lines:
            for line in lines:
                yield Transaction.from_json(json.loads(line))

    def append(self, transaction: Transaction) -> None:
        """Write `transaction` at the end of the file."""
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(transaction.to_json()) + "\n")

    def balances(self) -> dict[str, int]:
        """Return the cents in each account, sorted by account."""
        totals: Counter[str] = Counter()
        for transaction in self:
            for posting in transaction.postings:
                totals[posting.account] += posting.cents
        return dict(sorted(totals.items()))

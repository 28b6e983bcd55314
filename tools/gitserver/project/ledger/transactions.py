"""What a journal is made of: transactions, and their postings to accounts."""

from dataclasses import dataclass
from datetime import date
from typing import Any, Self

from ledger.money import format_amount, parse_amount


@dataclass(frozen=True, slots=True)
class Posting:
    """An amount that is added to one account."""

    account: str
    cents: int


@dataclass(frozen=True, slots=True)
class Transaction:
    """Postings that belong together and add up to zero."""

    day: date
    description: str
    postings: tuple[Posting, ...]

    def __post_init__(self) -> None:
        if len(self.postings) < 2:
            raise ValueError("a transaction needs two postings or more")
        if len({posting.account for posting in self.postings}) < len(self.postings):
            raise ValueError("a transaction names each account once")
        if excess := sum(posting.cents for posting in self.postings):
            raise ValueError(f"the postings add up to {format_amount(excess)}, not to 0.00")

    def to_json(self) -> dict[str, Any]:
        """Return the transaction as plain JSON values."""
        return {
            "day": self.day.isoformat(),
            "description": self.description,
            "postings": {p.account: format_amount(p.cents) for p in self.postings},
        }

    @classmethod
    def from_json(cls, data: Any) -> Self:
        """Build a transaction from plain JSON values, or raise ValueError."""
        try:
            return cls(
                day=date.fromisoformat(data["day"]),
                description=data["description"],
                postings=tuple(
                    Posting(account, parse_amount(amount))
                    for account, amount in data["postings"].items()
                ),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise ValueError("a transaction has a day, a description and postings") from error

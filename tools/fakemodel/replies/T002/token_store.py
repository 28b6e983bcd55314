"""Where tokens are kept: a JSON file that only its owner can read."""

import json
import os
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from ledger.tokens import Token, verify


class TokenStore:
    """Tokens by name. A file that is not there is an empty store."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def all(self) -> list[Token]:
        """Return the tokens, sorted by name."""
        if not self._path.exists():
            return []
        entries = json.loads(self._path.read_text(encoding="utf-8"))
        return [
            Token(name, entry["digest"], datetime.fromisoformat(entry["expires"]))
            for name, entry in entries.items()
        ]

    def add(self, token: Token) -> None:
        """Keep `token`, or raise ValueError when its name is taken."""
        tokens = self.all()
        if any(token.name == kept.name for kept in tokens):
            raise ValueError(f'there is a token "{token.name}" already; revoke it first')
        self._write([*tokens, token])

    def revoke(self, name: str) -> None:
        """Forget the token called `name`, or raise ValueError when there is none."""
        tokens = self.all()
        kept = [token for token in tokens if token.name != name]
        if len(kept) == len(tokens):
            raise ValueError(f'there is no token "{name}"')
        self._write(kept)

    def find(self, secret: str, now: datetime) -> Token | None:
        """Return the token that `secret` belongs to, unless it has expired."""
        return next((token for token in self.all() if verify(token, secret, now)), None)

    def _write(self, tokens: Iterable[Token]) -> None:
        entries = {
            token.name: {"digest": token.digest, "expires": token.expires.isoformat()}
            for token in sorted(tokens, key=lambda token: token.name)
        }
        # A rename replaces the file at once: a reader sees the old tokens or the new ones.
        draft = self._path.with_suffix(".new")
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(entries, file, indent=2)
        draft.replace(self._path)

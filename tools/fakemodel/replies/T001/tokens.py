"""Tokens that let a client in. Only a digest is kept; the secret is shown once."""

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True)
class Token:
    """What is kept of a token: enough to recognise its secret, not enough to tell it."""

    name: str
    digest: str
    expires: datetime


def issue(name: str, lifetime: timedelta, now: datetime) -> tuple[Token, str]:
    """Return a new token and its secret, which cannot be had again."""
    secret = secrets.token_urlsafe(32)
    return Token(name, _digest(secret), now + lifetime), secret


def verify(token: Token, secret: str, now: datetime) -> bool:
    """Return whether `secret` belongs to `token` and the token has not expired."""
    belongs = hmac.compare_digest(token.digest, _digest(secret))
    return belongs and now < token.expires


def _digest(secret: str) -> str:
    # The secret has 256 random bits, so a plain hash cannot be guessed back.
    return hashlib.sha256(secret.encode()).hexdigest()

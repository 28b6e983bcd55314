"""The `ledger token` commands: issue, list and revoke."""

import argparse
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ledger.token_store import TokenStore
from ledger.tokens import issue


def add_token_commands(commands: Any) -> None:
    """Describe `token` and what is below it."""
    token = commands.add_parser("token", help="say who may use the server")
    token.add_argument("--tokens", type=Path, default=Path("tokens.json"), metavar="FILE")
    actions = token.add_subparsers(required=True, metavar="ACTION")

    issued = actions.add_parser("issue", help="make a token and print its secret, once")
    issued.add_argument("name")
    issued.add_argument("--days", type=int, default=30, help="how long it is good for")
    issued.set_defaults(run=_issue)

    listed = actions.add_parser("list", help="show the tokens, without their secrets")
    listed.set_defaults(run=_list)

    revoked = actions.add_parser("revoke", help="forget a token")
    revoked.add_argument("name")
    revoked.set_defaults(run=_revoke)


def _issue(args: argparse.Namespace) -> None:
    token, secret = issue(args.name, timedelta(days=args.days), datetime.now(UTC))
    TokenStore(args.tokens).add(token)
    print(secret)


def _list(args: argparse.Namespace) -> None:
    for token in TokenStore(args.tokens).all():
        print(f"{token.name:<20} until {token.expires:%Y-%m-%d}")


def _revoke(args: argparse.Namespace) -> None:
    TokenStore(args.tokens).revoke(args.name)

"""The command line: arguments in, calls and a few lines of text out."""

import argparse
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from ledger.api import Api
from ledger.client import Client, Refused
from ledger.journal import Journal
from ledger.money import format_amount, parse_amount
from ledger.server import ApiServer
from ledger.transactions import Posting, Transaction


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    args = build_parser().parse_args(arguments)
    try:
        args.run(args)
    except (ValueError, Refused) as error:
        print(f"ledger: {error}", file=sys.stderr)
        return 1
    return 0


def build_parser() -> argparse.ArgumentParser:
    """Describe every command and its options."""
    parser = argparse.ArgumentParser(prog="ledger", description="A small double-entry ledger.")
    parser.add_argument("--journal", type=Path, default=Path("ledger.jsonl"), metavar="FILE")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    add = commands.add_parser("add", help="record a transaction")
    add.add_argument("day", type=date.fromisoformat)
    add.add_argument("description")
    add.add_argument("postings", nargs="+", metavar="ACCOUNT=AMOUNT")
    add.set_defaults(run=_add)

    balances = commands.add_parser("balances", help="show what is in each account")
    balances.add_argument("--url", help="ask this server instead of the file")
    balances.set_defaults(run=_balances)

    serve = commands.add_parser("serve", help="serve the journal over HTTP")
    serve.add_argument("--port", type=int, default=8000)
    serve.set_defaults(run=_serve)
    return parser


def _add(args: argparse.Namespace) -> None:
    pairs = (posting.partition("=") for posting in args.postings)
    postings = tuple(Posting(account, parse_amount(amount)) for account, _, amount in pairs)
    Journal(args.journal).append(Transaction(args.day, args.description, postings))


def _balances(args: argparse.Namespace) -> None:
    balances = Client(args.url).balances() if args.url else Journal(args.journal).balances()
    width = max(map(len, balances), default=0)
    for account, cents in balances.items():
        print(f"{account:<{width}} {format_amount(cents):>10}")


def _serve(args: argparse.Namespace) -> None:
    with ApiServer(Api(Journal(args.journal)), args.port) as server:
        print(f"serving {args.journal} at http://127.0.0.1:{server.server_port}")
        server.serve_forever()

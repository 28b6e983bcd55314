import contextlib
import io
import tempfile
import unittest
from pathlib import Path

from ledger.cli import main


def run_ledger(folder: Path, *arguments: str) -> tuple[int, str, str]:
    """Return the exit code, what was printed, and what was complained about."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["--journal", str(folder / "ledger.jsonl"), *arguments])
    return code, out.getvalue(), err.getvalue()


class CommandLineTest(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def test_balances_show_what_was_added(self) -> None:
        posted = ("kitchen=12.50", "cash=-12.50")
        added = run_ledger(self.folder, "add", "2026-03-01", "Coffee", *posted)
        shown = run_ledger(self.folder, "balances")

        self.assertEqual(added, (0, "", ""))
        self.assertEqual(shown, (0, "cash        -12.50\nkitchen      12.50\n", ""))

    def test_a_bad_amount_is_one_sentence_and_exit_code_1(self) -> None:
        posted = ("kitchen=1", "cash=lots")
        code, _, complaint = run_ledger(self.folder, "add", "2026-03-01", "Coffee", *posted)

        self.assertEqual(code, 1)
        self.assertEqual(complaint, 'ledger: "lots" is not an amount; write it as 12.50\n')

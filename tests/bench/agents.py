"""`python3 -m tests.bench.agents`: how soon an episode ends after the provider has said no.

Runs every agent program against every kind of answer, one episode at a time, and prints for each
how it ended, how many requests the provider got, and the seconds from its first failing answer to
the end of the agent.
"""

import argparse
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.episode.matrix import ANSWERS, KEY, OTHER_APIS, PROGRAMS, Answer, Ended, Place, Program
from tests.episode.servers import PASSWORD, USERNAME
from tests.server_process import Server, running

FAILED = (": refuse with", ": reset", ": empty", ": cut-off", ": hang")
HEADINGS = ("program", "answer", "ended as", "requests", "seconds")


@dataclass(frozen=True)
class Measured:
    """One episode; `seconds` is None where the provider did not fail."""

    program: Program
    answer: Answer
    ended: Ended
    requests: int
    seconds: float | None

    def row(self) -> tuple[str, ...]:
        """Return the cells of a table."""
        said = self.ended.outcome.value
        if self.ended.outcome is not self.answer.want:
            said = f"{said}, not {self.answer.want.value}"
        seconds = "-" if self.seconds is None else f"{self.seconds:.1f}"
        return self.program.name, self.answer.name, said, str(self.requests), seconds


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog="example: python3 -m tests.bench.agents --program Codex"
    )
    programs = (*PROGRAMS, *OTHER_APIS)
    names = [program.name for program in programs]
    parser.add_argument("--program", choices=names, action="append", help="only this one")
    wanted = parser.parse_args().program or names
    print("| " + " | ".join(HEADINGS) + " |")
    print("|" + "---|" * len(HEADINGS))
    with tempfile.TemporaryDirectory() as folder, _place(Path(folder)) as place:
        for program in programs:
            for answer in ANSWERS if program.name in wanted else ():
                measured = _measure(place, program, answer)
                print("| " + " | ".join(measured.row()) + " |", flush=True)


@contextmanager
def _place(root: Path) -> Iterator[Place]:
    for name, text in (("username", USERNAME), ("password", PASSWORD), ("api-key", KEY)):
        (root / name).write_text(text)
    (root / "repositories").mkdir()
    files = ("--username-file", str(root / "username"), "--password-file", str(root / "password"))
    with running("tools.gitserver.git_server", "--root", str(root / "repositories"), *files) as git:
        yield Place(root, root / "repositories", git.port)


def _measure(place: Place, program: Program, answer: Answer) -> Measured:
    key_file = str(place.root / "api-key")
    with running(
        "tools.fakemodel.model_server", "--api-key-file", key_file, "--delay", "0"
    ) as model:
        ended = place.run(program, answer, model.port)
    asked = [line for line in model.log if "POST" in line or ": reset" in line or ": hang" in line]
    failed = _first_failure(model)
    seconds = None if failed is None else ended.report.phases["agentEnded"] - failed
    return Measured(program, answer, ended, len(asked), seconds)


def _first_failure(model: Server) -> float | None:
    lines = zip(model.log, model.moments, strict=True)
    return next((moment for line, moment in lines if any(word in line for word in FAILED)), None)


if __name__ == "__main__":
    main()

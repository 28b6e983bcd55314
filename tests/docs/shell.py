"""From a block of shell to its commands, as lists of words; nothing is expanded or run."""

import re
import shlex
from collections.abc import Iterator

ENDS = {";", "|", "||", "&&", "&", "(", ")", "<("}
REDIRECTIONS = {">", ">>", "<", "2>"}
_ASSIGNMENT = re.compile(r"\w+=")
_KEYWORDS = {"do", "then", "else"}
_LOOPS = {"for", "done", "fi"}


def commands(text: str) -> list[list[str]]:
    """The commands of a block; assignments, redirections and loops around them are left out."""
    lines = text.replace("\\\n", " ").splitlines()
    return [words for line in lines for words in _of_line(line.removeprefix("$ "))]


def loop_words(text: str) -> dict[str, list[str]]:
    """The words that each variable of a loop has in turn."""
    found = re.findall(r"^for (\w+) in ([^;]+);", text, re.MULTILINE)
    return {name: words.split() for name, words in found}


def variables(text: str) -> dict[str, str]:
    """What the block sets: `NAME=VALUE` at the start of a line that has nothing else."""
    lines = re.findall(r"^(\w+=\S+(?: \w+=\S+)*)$", text, re.MULTILINE)
    return dict(item.split("=", 1) for line in lines for item in line.split())


def _of_line(line: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    command: list[str] = []
    for word in [*lexer, ";"]:
        if word not in ENDS:
            command.append(word)
            continue
        if words := _plain(command):
            yield words
        command = []


def _plain(words: list[str]) -> list[str]:
    kept: list[str] = []
    is_target = False
    for word in words:
        if word in REDIRECTIONS or is_target:
            is_target = word in REDIRECTIONS
        elif kept or not (word in _KEYWORDS or _ASSIGNMENT.match(word)):
            kept.append(word)
    return [] if kept and kept[0] in _LOOPS else kept

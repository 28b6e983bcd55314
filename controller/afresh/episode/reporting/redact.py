"""Removes secrets from every text that leaves the runner.

Recognizes given values and the forms of a few kinds of keys. Reads no file.
"""

import base64
import re
from collections.abc import Iterable
from itertools import takewhile
from urllib.parse import quote

from afresh.contract.text import ELLIPSIS

HIDDEN = "[redacted]"
# Shorter values would hide ordinary words; no real credential is shorter.
SHORTEST = 6
# A shorter beginning of a truncated secret may as well begin an ordinary word.
HEAD = 12
SHAPES = re.compile(
    r"sk-[A-Za-z0-9_-]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
    r"|AKIA[A-Z0-9]{16}|AIza[A-Za-z0-9_-]{35}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?<=://)[^/@\s:]*:[^/@\s]+(?=@)"
    r"|(?i:(?<=authorization: )(?:basic|bearer) \S+)"
)
# A JSON Web Token has three parts. A run of characters is matched whole and examined once: a
# pattern for the three parts would start again at every character of a hostile line.
RUN = re.compile(r"(?<![\w.-])[\w.-]{35,}")
TOKEN_HEAD = re.compile(r"eyJ[\w-]{10}")
PART_LENGTH = 10


class Redactor:
    """Replaces known secrets, their base64 and URL forms, and texts that look like keys."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets for form in _forms(secret)}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._known = re.compile("|".join(map(re.escape, longest_first))) if forms else None
        self._long = [form for form in longest_first if len(form) > HEAD]
        heads = sorted({re.escape(form[:HEAD]) for form in self._long})
        self._heads = re.compile(f"(?=({'|'.join(heads)}))") if heads else None

    def __call__(self, text: str) -> str:
        """Return `text` with every secret replaced by HIDDEN."""
        if self._known:
            text = self._known.sub(HIDDEN, text)
        return self._without_heads(RUN.sub(_without_tokens, SHAPES.sub(HIDDEN, text)))

    def _without_heads(self, text: str) -> str:
        """Hide the beginning of a known secret where the rest of it has been cut off."""
        shown, at = [], 0
        for found in self._heads.finditer(text) if self._heads else ():
            start = found.start()
            end = start + max(_shared(form, text, start) for form in self._long)
            if start >= at and text[end : end + 1] in ("", ELLIPSIS):
                shown += [text[at:start], HIDDEN]
                at = end
        return "".join((*shown, text[at:]))


def _shared(form: str, text: str, start: int) -> int:
    pairs = zip(form, text[start : start + len(form)], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _without_tokens(run: re.Match[str]) -> str:
    parts = run[0].split(".")
    shown, at = [], 0
    while at < len(parts):
        head = TOKEN_HEAD.search(parts[at])
        lengths = [len(part) for part in parts[at + 1 : at + 3]]
        if head and len(lengths) == 2 and min(lengths) >= PART_LENGTH:
            shown.append(parts[at][: head.start()] + HIDDEN)
            at += 3
        else:
            shown.append(parts[at])
            at += 1
    return ".".join(shown)


def _forms(secret: str) -> Iterable[str]:
    value = secret.strip()
    if len(value) < SHORTEST:
        return
    yield value
    yield quote(value, safe="")
    yield base64.b64encode(value.encode()).decode().rstrip("=")
    for line in value.splitlines():
        if len(line) >= SHORTEST and "-----" not in line:
            yield line

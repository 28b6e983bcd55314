"""Removes secrets from every text that leaves the runner.

Knows values and a few shapes of keys; reads no file.
"""

import base64
import re
from collections.abc import Iterable
from urllib.parse import quote

HIDDEN = "[redacted]"
# Shorter values would blank out ordinary words; no credential worth the name is shorter.
SHORTEST = 6
SHAPES = re.compile(
    r"sk-[A-Za-z0-9_-]{16,}"
    r"|gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,}|glpat-[\w-]{16,}"
    r"|AKIA[A-Z0-9]{16}"
    r"|eyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|(?<=://)[^/@\s:]+:[^/@\s]+(?=@)"
    r"|(?i:(?<=authorization: )(?:basic|bearer) \S+)"
)


class Redactor:
    """Replaces known secrets, their base64 and URL forms, and texts that look like keys."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        forms = {form for secret in secrets for form in _forms(secret)}
        longest_first = sorted(forms, key=lambda form: (-len(form), form))
        self._known = re.compile("|".join(map(re.escape, longest_first))) if forms else None

    def __call__(self, text: str) -> str:
        """Return `text` without secrets."""
        if self._known:
            text = self._known.sub(HIDDEN, text)
        return SHAPES.sub(HIDDEN, text)


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

"""The kinds of tests that a run may leave out by their mark, and what it says of them."""

LEFT_OUT = {
    "slow": "make slow (the real agent programs, floods, many packages at once, "
    "an operator that dies at every write)",
    "apiserver": "make apiserver (needs Go: python3 tools/singlenode install)",
    "cluster": "make e2e (needs root and Go: python3 tools/singlenode check)",
}


def said(expression: str) -> list[str]:
    """Return a line for each kind that an expression of marks leaves out, with what runs it."""
    kinds = [mark for mark in LEFT_OUT if f"not {mark}" in expression]
    return [f"left out, {mark}: {LEFT_OUT[mark]}" for mark in kinds]

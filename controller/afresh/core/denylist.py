"""Which words of a directive tell of the past, and so may not reach an agent (S1-3, S1-5).

A person may well write "before", "failed" or "again" about the code that is wanted: refused is only
what speaks of earlier work, earlier talks, or how often something was tried. Pure.
"""

import re
from functools import lru_cache

_WORK = r"(?:attempts?|iterations?|tries|episodes?|work|agents?|conversations?|implementation)"
_ONE = r"(?:attempt|iteration|episode)"
_COUNT = r"(?:no\.? ?|number |# ?)?(?:\d+|one|two|three|four|five)"
# "If it failed" is about the code.
_UNCONDITIONAL = "".join(
    f"(?<!{word} )" for word in ("if", "when", "whether", "if the", "when the", "whether the")
)
_PATTERNS = (
    # earlier work
    rf"(?:previous|prior|last|earlier|former) {_WORK}",
    r"your (?:first|second|old|previous|prior|last|earlier) \w+",
    r"(?:this|last) time(?! zone)",
    rf"(?:second|third|fourth|fifth|next|final|another|\d+(?:nd|rd|th)) {_ONE}",
    rf"{_ONE} {_COUNT}",
    rf"(?:try|round) {_COUNT} of \w+",
    r"worked on (?:this|it|that)",
    r"(?:left|leave) off",
    r"once more|yet again|one more time",
    rf"{_UNCONDITIONAL}(?:you|it|this|that|tests?|build|review|reviewer|work) (?:\w+ )?"
    r"(?:failed|got stuck|was stuck|was rejected|was refused)",
    r"failed (?:because|again)",
    r"(?:still|keeps?|kept) (?:fails?|failing|broken|wrong|red|missing|stuck)",
    r"(?:does|do|is|are)(?: not|n't) (?:\w+ )?yet",
    # earlier talk
    r"you(?: may| might| could| must)?(?: have|'ve|'d| had)(?: \w+)? "
    r"(?:worked|tried|asked|been|done|made|seen|started|finished|failed|written|changed|broken)",
    r"you (?:already|again|previously|earlier|once|just|were|did|asked|said|tried|forgot|wrote"
    r"|made|added|broke|changed|removed|missed|ignored|used|left|stopped|got)",
    r"(?:i|we)(?: have|'ve|'d| had| already| just)* (?:said|told|asked|answered|explained|agreed"
    r"|discussed|decided|mentioned|wrote|rejected|reviewed|fixed|changed|tried)",
    r"as (?:\w+ )?(?:discussed|agreed|mentioned|explained|asked|told|said)",
    r"as (?:before|earlier|previously)",
    # earlier states
    r"(?:has|have|had|was|were|is|are) already (?:been )?"
    r"(?:tried|attempted|asked|told|reviewed|rejected)",
    r"already (?:tried|attempted|asked|told|said|answered|worked)",
    r"(?:pull|merge) requests? (?:was|were|is|has been|exists?) already",
    r"was (?:blocked|stuck|pending|in progress|needs review)",
    r"(?:blocked|stuck|failed) (?:before|earlier|previously)",
)
_HISTORY = re.compile("|".join(rf"\b(?:{item})\b" for item in _PATTERNS), re.IGNORECASE)


# Packages are looked at often, and their directives seldom change.
@lru_cache(maxsize=8192)
def history_wording(text: str) -> str | None:
    """Return the first words of `text` that tell of the past, as they stand there, or None."""
    found = _HISTORY.search(" ".join(text.replace("\u2019", "'").split()))
    return found[0] if found else None

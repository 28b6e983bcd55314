"""Finds words about the past (S1-3, S1-5), with one list for people and a stricter one for agents.

Words of a person are reported to the person, and never refused. From an agent's summary, sentences
that could reveal how the work went are removed before other agents see it. Pure.
"""

import re
import unicodedata
from functools import lru_cache

from afresh.contract.text import one_line

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


# Packages are checked often, and their directives seldom change.
@lru_cache(maxsize=8192)
def history_wording(text: str) -> str | None:
    """Return the first words of `text` about the past, exactly as written, or None."""
    found = _HISTORY.search(" ".join(text.replace("\u2019", "'").split()))
    return found[0] if found else None


# An agent can describe the present without these words. It is better to lose a fact than to reveal
# history.
_STRICT = re.compile(
    r"\b(?:attempt(?:s|ed|ing)?|previous(?:ly)?|prior|earlier|former(?:ly)?|again|"
    r"retr(?:y|ies|ied|ying)|re-?(?:tried|ran|did|done|wrote|written|worked|attempted|opened)|"
    r"tried|histor(?:y|ies|ical|ically)|already|fail(?:s|ed|ing|ures?)?|stuck|so far|"
    r"restart(?:s|ed)?|resume[ds]?|episodes?|agents?|was|were|wasn't|weren't|had|hadn't|did|"
    r"didn't|been|ago|still|anew|yet|no longer|any ?more|finally|eventually|broke|mistakes?|"
    r"reject(?:s|ed|ions?)|reviewers?|cancell?ed|timed out|revision \d+|once more|"
    r"(?:last|next|this|first|second|third|fourth|fifth|final|\d+(?:st|nd|rd|th)) "
    r"(?:time|try|go|run|pass|round|one))\b",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?;])\s+|[\r\n]+|\s+[-*\u2022\u2013\u2014]\s+")


def without_history(text: str) -> str:
    """Return, as one line, the sentences of an agent that cannot reveal how its work went."""
    kept = [one_line(part) for part in _SENTENCE.split(text) if part and not _may_tell(part)]
    line = " ".join(part for part in kept if part)
    return "" if _may_tell(line) else line


def _may_tell(text: str) -> bool:
    """Whether the visible characters of the text are about the past."""
    read = "".join(ch for ch in unicodedata.normalize("NFKD", text) if _is_read(ch))
    read = one_line(read.replace("\u2019", "'"))
    joined = re.sub(r"(?<=\w)[-.](?=\w\b)|(?<=\b\w) (?=\w\b)", "", read)
    return any(_STRICT.search(form) or _HISTORY.search(form) for form in (read, joined))


def _is_read(character: str) -> bool:
    """Whether the character is visible: not Markdown markup, and not of zero width."""
    return character not in "*_`~|\\" and unicodedata.category(character) not in ("Cf", "Mn", "Me")

"""Which directives a person is warned about: those that tell what has happened."""

import pytest

from afresh.contract.history_words import history_wording

HISTORY = [
    ("You asked about auth and I said use JWT.", "You asked"),
    ("You may have worked on this before.", "You may have worked"),
    ("Previous iteration failed because of a typo.", "Previous iteration"),
    ("This is attempt 3 of 5.", "attempt 3"),
    ("This is the second attempt.", "second attempt"),
    ("Attempt two of three: be careful.", "Attempt two"),
    ("Check your previous work.", "your previous work"),
    ("The last agent broke the build; mend it.", "last agent"),
    ("Do it right this time.", "this time"),
    ("The tests still fail; look at the fixture.", "still fail"),
    ("The test keeps failing on Windows.", "keeps failing"),
    ("The build failed, so pin the dependency.", "build failed"),
    ("As discussed, use JWT.", "As discussed"),
    ("I already told you to use JWT.", "I already told"),
    ("We decided on JWT.", "We decided"),
    ("You've forgotten the tests? You forgot the docs.", "You forgot"),
    ("You\u2019ve already tried sessions.", "You've already tried"),
    ("Continue where you left off.", "you left"),
    ("Once more, with tests.", "Once more"),
    ("A pull request was already opened for it.", "pull request was already"),
    ("The subtask was stuck on the key format; use PEM.", "was stuck"),
    ("Your first\n  attempt  had no tests.", "Your first attempt"),
    ("Sessions were already tried.", "were already tried"),
]  # fmt: skip

PRESENT = [
    "Use JWT.",
    "Use JWT, signed with the key in settings.",
    "Validate the token before the request is routed.",
    "Log every failed login with its reason.",
    "Retry a request twice, then raise TimeoutError.",
    "Keep the previous token valid for a minute.",
    "Show the last ten attempts of a user to log in.",
    "Never ask the user again within an hour.",
    "Accept tokens that were issued by the old server.",
    "If the file already exists, raise FileExistsError.",
    "Return the time zone of this timestamp.",
    "Store the history of a document in its own table.",
    "Use one session for all requests of a test.",
    "End the last session of a user who logs out.",
    "The iteration order of the result is the order of insertion.",
    "Let the error message say what was expected.",
    "Write tests for what you change.",
    "Delete the code that you replace.",
    "Use the last run id from settings.",
    "Cover a first try without a network.",
    "Return 409 if the user has already been created.",
    "If it failed, raise.",
    "When the build failed, send a mail.",
    "Return at once where the work is already done.",
]


@pytest.mark.parametrize(("directive", "want"), HISTORY)
def test_directive_about_the_past_is_found_by_its_words(directive: str, want: str):
    assert history_wording(directive) == want


@pytest.mark.parametrize("directive", PRESENT)
def test_directive_about_the_code_alone_is_not_pointed_out(directive: str):
    assert history_wording(directive) is None

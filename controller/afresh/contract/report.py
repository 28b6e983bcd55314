"""The Report: the result of one episode, as the runner's termination message and as a hint.

It is at most REPORT_MAX_BYTES of JSON. `fit` shortens texts before fields on which decisions
depend, and the result is always valid JSON.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from afresh.contract import codec
from afresh.contract.sentences import fitted
from afresh.contract.words import Outcome, ProviderFault, PushRefusal

REPORT_VERSION = 1
REPORT_MAX_BYTES = 3072
# The id in the result of a sync, which has a result only if it failed.
SYNC_ID = ""
ANY_PATH = ("**",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """The tokens and cost of the model's answers.

    `cost_usd` is in US dollars, as a decimal string; absent without a price.
    """

    turns: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost_usd: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyResult:
    """The result of the acceptance command; exit code 124 means that it reached its time limit."""

    exit_code: int
    duration_seconds: float
    tail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unpushed:
    """Why a push did not reach the branch, and where its commit is.

    `refusal` is absent if the server refused nothing. `kept` is the verified commit on the
    subtask's side ref. `conflicts` are paths that others changed at the same time; `**` means any.
    """

    refusal: PushRefusal | None = None
    kept: str | None = None
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How the episode ended for one subtask, and the subtask's share of the episode's usage.

    `summary` is the agent's own summary of its work, for people. `peak_input_tokens` is the largest
    input of one request, and `peak_input_percent` the highest percentage of a model's context
    window, if that is known. `unpushed` describes a push that failed. `is_servers`: the git server
    fails for every package of the repository.
    """

    id: str
    outcome: Outcome
    revision: int = 0
    commit: str | None = None
    unpushed: Unpushed | None = None
    is_servers: bool = False
    message: str = ""
    summary: str = ""
    exit_code: int | None = None
    verify: VerifyResult | None = None
    usage: Usage | None = None
    peak_input_tokens: int = 0
    peak_input_percent: int | None = None
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """The result of an episode.

    `final` is false while the episode runs: if the runner is killed, the termination message shows
    how far it came. A result with a commit counts at once, because the commit is on the branch. A
    subtask without a result in a final Report was not begun. `missing` are commits that the Order
    names and the repository lacks; there may be more. `phases` are seconds since the epoch, by name
    (see PHASES). `not_before` is the provider's reset time in seconds since the epoch, `fault` the
    provider's last failure, if there was one. `push_passed`: the server accepted a push to the
    branch. `programs` are the checks of the Order whose program was found. `answered`: the model's
    provider has sent at least one complete answer.
    """

    episode: str
    stage: str
    final: bool = False
    results: tuple[Result, ...] = ()
    head: str | None = None
    plan_digest: str | None = None
    push_passed: bool = False
    missing: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    answered: bool = False
    not_before: float | None = None
    fault: ProviderFault | None = None
    phases: dict[str, float] = field(default_factory=dict)
    log_tail: str = ""
    version: int = REPORT_VERSION


# In the order in which an episode with one subtask reaches them. A batch reports those of its last
# subtask, and `pushed` for the last push.
PHASES = (
    "runnerStarted",
    "prepared",
    "agentReady",
    "agentStarted",
    "modelAsked",
    "agentEnded",
    "committed",
    "verified",
    "pushed",
    "reported",
)


def fit(report: Report, limit: int = REPORT_MAX_BYTES) -> str:
    """Return the report as JSON of at most `limit` bytes, cutting texts by priority.

    Ids, outcomes and commits are never cut. After all texts, the usage by subtask is dropped, and
    last the revisions, which the Order has, too. Raises ContractError if even the rest is too
    large; the rest of a batch of 25 subtasks is not.
    """
    for cut in _cuts(report):
        text = codec.dumps(cut)
        if len(text.encode()) <= limit:
            return text
    raise codec.ContractError(f"the report of {report.episode} does not fit into {limit} bytes")


def parse(text: str) -> Report:
    """Parse a termination message or a hint. Raises ContractError if it is not a valid Report."""
    return codec.loads(Report, text)


def _cuts(report: Report) -> Iterator[Report]:
    yield report
    for size in (1024, 512, 256, 0):
        yield _shorten(report, _Sizes(log=size, tail=max(size, 256), summary=size // 3))
    for size in (128, 64, 0):
        yield _shorten(report, _Sizes(tail=size, message=max(size, 100)))
    bare = _shorten(report, _Sizes(message=40))
    yield replace(bare, results=tuple(replace(item, warnings=()) for item in bare.results))
    yield _decided(bare, with_usage=True)
    least = replace(_decided(bare), phases={}, programs=())
    yield least
    yield replace(
        least, results=tuple(replace(item, revision=0, message="") for item in least.results)
    )


def _decided(report: Report, *, with_usage: bool = False) -> Report:
    """Return the report with only the fields of its results on which decisions depend.

    The message of the failed result is kept, too, and with `with_usage` the usage of each.
    """
    return replace(
        report,
        results=tuple(
            Result(
                id=item.id,
                outcome=item.outcome,
                revision=item.revision,
                commit=item.commit,
                unpushed=_without_paths(item.unpushed),
                message="" if item.commit else item.message,
                usage=item.usage if with_usage else None,
            )
            for item in report.results
        ),
    )


def _without_paths(unpushed: Unpushed | None) -> Unpushed | None:
    """Return `unpushed` with `**`, which means any path, in place of the paths of its conflicts."""
    if unpushed is None or not unpushed.conflicts:
        return unpushed
    return replace(unpushed, conflicts=ANY_PATH)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sizes:
    """How many characters of each kind of text are kept; a failure's message is cut last."""

    log: int = 0
    tail: int = 0
    message: int = 400
    summary: int = 0


def _shorten(report: Report, sizes: _Sizes) -> Report:
    return replace(
        report,
        log_tail=_end(report.log_tail, sizes.log),
        results=tuple(
            replace(
                item,
                message=fitted(
                    item.message, sizes.message if item.commit else max(sizes.message, 200)
                ),
                summary=_start(item.summary, sizes.summary),
                verify=item.verify
                and replace(item.verify, tail=_end(item.verify.tail, sizes.tail)),
            )
            for item in report.results
        ),
    )


def _start(text: str, size: int) -> str:
    return text if len(text) <= size else f"{text[: size - 1]}…" if size else ""


def _end(text: str, size: int) -> str:
    return text[-size:] if size else ""

"""Explains one package: looks with the person's own rights, decides as the operator would.

Owns the text. Imports the Kubernetes client, which takes a while: commands import this when they
run.
"""

import asyncio
import json
from collections.abc import Iterator

from rich.text import Text

from afresh import clock
from afresh.cli.connection import connected
from afresh.cli.look.cluster_reader import read_cluster
from afresh.cli.look.explanation import Explanation, StatusSummary, explain
from afresh.cli.look.terminal import Style, line, standard_output, wrapped, write
from afresh.cli.looks import Output
from afresh.cli.requests import Target
from afresh.cli.session import missing_package
from afresh.core.history.durations import short_duration
from afresh.kube.errors import NotFoundError
from afresh.kube.queue import Key

SECONDS = 45
LABEL = 10
MAX_WIDTH = 100
MAX_WAITING = 20


def show(target: Target, output: Output) -> None:
    """Write the explanation to standard output. Raises CommandError."""
    explained = asyncio.run(_explain(target))
    if output is Output.JSON:
        print(json.dumps(explained.to_json(), indent=2))
        return
    console = standard_output()
    write(console, lines(explained, min(console.width, MAX_WIDTH)))


async def _explain(target: Target) -> Explanation:
    async with connected(target, SECONDS) as (kube, namespace):
        try:
            read = await read_cluster(kube, Key(namespace, target.package), clock.now())
        except NotFoundError as error:
            raise missing_package(target.package, namespace, error) from error
    return explain(read.package, read.observed, read.missing, read.operators, clock.now())


def lines(explained: Explanation, width: int) -> Iterator[Text]:
    """Yield the explanation as lines of at most `width` columns."""
    yield line((f"{explained.namespace}/{explained.name}", Style.HEAD))
    for label, text, style in _parts(explained):
        for number, part in enumerate(wrapped(text, max(width - LABEL, LABEL), style)):
            yield line((f"{'' if number else label:<{LABEL}}", Style.FAINT), part)


def _parts(explained: Explanation) -> Iterator[tuple[str, str, Style]]:
    if explained.unserved:
        yield "Operator", explained.unserved, Style.BAD
    yield "Status", _phase_and_reason(explained.recorded), Style.PLAIN
    if explained.fetch:
        yield "Get it", explained.fetch, Style.PLAIN
    if explained.behind:
        yield "", "The operator has not looked at the last change yet.", Style.WARNING
    yield from _next(explained)
    for number, item in enumerate(explained.waiting[:MAX_WAITING]):
        style = Style.BAD if item.remedy else Style.PLAIN
        yield "" if number else "Subtasks", f"{item.marker} {item.id} {item.why}", style
        if item.remedy:
            yield "", f"    {item.remedy}", Style.PLAIN
    if len(explained.waiting) > MAX_WAITING:
        yield "", f"and {len(explained.waiting) - MAX_WAITING} more", Style.FAINT
    yield "To do", explained.remedy, Style.PLAIN
    for number, missing in enumerate(explained.missing):
        hides = f", which would show {missing.hides}" if missing.hides else ""
        yield "" if number else "Not seen", f"{missing.what}{hides}", Style.WARNING
    if explained.operators is not None:
        said = "; ".join(explained.operators) or "no Deployment of an operator was found"
        yield "Operator", said, Style.PLAIN if explained.operators else Style.BAD


def _next(explained: Explanation) -> Iterator[tuple[str, str, Style]]:
    if explained.next is None:
        yield "Next", "The next step depends on what you may not see.", Style.WARNING
        return
    yield "Rule", f"{explained.next.rule}: {explained.next.fact}", Style.PLAIN
    for number, action in enumerate(explained.next.actions or ("nothing to do",)):
        yield "" if number else "Next", action, Style.PLAIN
    if explained.next.status != explained.recorded:
        yield "Then", _phase_and_reason(explained.next.status), Style.LIVE
    again = explained.next.looks_again_seconds
    when = (
        "when something changes" if again is None else f"in {short_duration(again)}, or at a change"
    )
    yield "Looks", "as soon as an operator runs" if explained.unserved else when, Style.PLAIN


def _phase_and_reason(status: StatusSummary) -> str:
    reason = f", {status.reason}" if status.reason not in ("", status.phase) else ""
    said = f": {status.message}" if status.message else ""
    return f"{status.phase}{reason}{said}"

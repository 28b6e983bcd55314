"""Runs the checks and writes what they found.

Owns the order of the checks. Each makes only requests that change nothing.
"""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from rich.text import Text

from afresh.cli.check import admission, images, network, rights, software
from afresh.cli.check.findings import CheckFinding, CheckFindings, CheckLevel
from afresh.cli.installation import (
    InstalledCrd,
    InstalledOperator,
    Reading,
    read_crds,
    read_operators,
)
from afresh.cli.look.terminal import Style, line, standard_output, wrapped
from afresh.cli.look.terminal import write as write_lines
from afresh.cli.plain_values import plain_value
from afresh.cli.requests import Place, TableForm
from afresh.cli.session import asking
from afresh.kube.api_session import ApiSession

SECONDS = 60
GAP = "   "
LONGEST_LEVEL = max(map(len, CheckLevel))
LEAST_MESSAGE = 30
STYLES = {
    CheckLevel.PASS: Style.GOOD, CheckLevel.WARN: Style.WARNING, CheckLevel.FAIL: Style.BAD,
    CheckLevel.UNKNOWN: Style.FAINT,
}  # fmt: skip

Checks = Iterator[CheckFinding]


def run_checks(place: Place, *, before_install: bool) -> CheckFindings:
    """Return what the checks find. Raises CommandError where the cluster cannot be asked."""
    with asking(place, SECONDS) as (session, namespace):
        operators, crds = read_operators(session), read_crds(session)
        installation = Installation(session, namespace, operators, crds)
        checks = CHECKS_BEFORE_INSTALL if before_install else CHECKS
        return CheckFindings(tuple(row for check in checks for row in check(installation)))


@dataclass(frozen=True, slots=True)
class Installation:
    """What every check may use."""

    session: ApiSession
    namespace: str
    operators: Reading[InstalledOperator]
    crds: Reading[InstalledCrd]


Check = Callable[[Installation], Checks]

CHECKS: tuple[Check, ...] = (
    lambda item: software.kubernetes(item.session),
    lambda item: software.crds(item.session, item.crds),
    lambda item: software.operator(item.operators),
    lambda item: software.served(item.operators, item.namespace),
    lambda item: rights.author(item.session, item.namespace),
    lambda item: images.registries(item.session, item.operators),
    lambda item: images.pulls(item.session, item.namespace, item.operators),
    lambda item: admission.episode_pod(item.session, item.namespace, item.operators),
    lambda item: network.enforcement(item.session),
)
CHECKS_BEFORE_INSTALL: tuple[Check, ...] = (
    lambda item: software.kubernetes(item.session),
    lambda item: software.not_installed(item.session, item.operators, item.crds),
    lambda item: rights.installer(item.session),
    lambda item: admission.episode_pod(item.session, item.namespace, item.operators),
    lambda item: network.enforcement(item.session),
)


def write(findings: CheckFindings, form: TableForm) -> None:
    """Write the findings to standard output, for people or as JSON."""
    if form is TableForm.JSON:
        value = {"passed": findings.passed, "checks": plain_value(findings.rows)}
        print(json.dumps(value, indent=2))
        return
    # What is no terminal gets each message in one line.
    console = standard_output(wide=not sys.stdout.isatty())
    write_lines(console, lines(findings, console.width))


def lines(findings: CheckFindings, width: int) -> Iterator[Text]:
    """Yield the findings as lines of at most `width` columns."""
    longest = max(len(row.check) for row in findings.rows)
    before = longest + len(GAP) + LONGEST_LEVEL + len(GAP)
    yield line((f"{'CHECK':<{longest}}{GAP}{'RESULT':<{LONGEST_LEVEL}}{GAP}MESSAGE", Style.HEAD))
    for row in findings.rows:
        parts = wrapped(row.message, max(width - before, LEAST_MESSAGE))
        result = (f"{row.level:<{LONGEST_LEVEL}}", STYLES[row.level])
        yield line(f"{row.check:<{longest}}{GAP}", result, GAP, parts[0])
        for part in parts[1:]:
            yield line(" " * before, part)
    yield line("No check has failed." if findings.passed else "A check has failed.")

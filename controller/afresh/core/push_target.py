"""Identifies where a package pushes to, and whether the server is known to accept its pushes.

Pure.
"""

from collections.abc import Sequence

from afresh.api.work_package import WorkPackage
from afresh.core.history.classify import AttemptResult
from afresh.core.history.transitions import Syncs
from afresh.core.job_inputs import generations_of
from afresh.core.names import short_hash
from afresh.core.observed import Observed


def push_target(package: WorkPackage) -> str:
    """Return a hash of the repository, branch and Secret with which the package pushes."""
    given = package.spec.repository
    return short_hash(given.url, package.branch, given.secret_name or "", length=16)


def passed_after(seen: Observed, attempt_results: Sequence[AttemptResult], syncs: Syncs) -> str:
    """Return `push_target` if the server is known to accept pushes, else an empty text.

    A later refusal makes it unknown again.
    """
    target, probe = push_target(seen.package), syncs.probe
    reports = [item.ended.report for item in attempt_results if item.ended.report]
    if probe and probe.refused:
        return ""
    if any(result.unpushed and result.unpushed.refusal for r in reports for result in r.results):
        return ""
    passed = any(
        item.ended.report is not None
        and item.ended.report.push_passed
        # An edit in between may have named another Secret.
        and item.episode.generations == generations_of(seen)
        for item in attempt_results
    )
    if probe or passed:
        return target
    known = seen.package.status.push_passed
    return known if known == target else ""

"""Writes the generated parts of docs/ and of the site's navigation, and the charts' README files.

It also sets the image tags in the examples.

    python -m tools.docsgen.generate [--check] DIR

writes into DIR, and into the README.md, the zensical.toml and the charts beside it. With --check it
writes nothing and names the files that are not current (exit 1).
"""

import argparse
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from afresh import __version__
from afresh.contract.order import Order
from afresh.contract.report import Report
from tools.docsgen import (
    blocks,
    chart_page,
    cli_page,
    conditions_table,
    contract_page,
    example_tags,
    fields_table,
    mermaid,
    metrics_page,
    names_table,
    page_lists,
    phases,
    picture,
    pod_mounts,
    pod_picture,
    reasons_page,
    requirements_table,
    stages_table,
    values_table,
)

SITE = "zensical.toml"
CHARTS = "charts"
_NAVIGATION = ("# The navigation, written by `make docs`.\n", "\n# The end of the navigation.")
_KINDS = ("WorkPackage", "Subtask", "AgentClass")
_DIAGRAMS = {
    "subtask-phases": phases.SUBTASK,
    "package-phases": phases.PACKAGE,
}


def texts(directory: Path) -> dict[Path, str]:
    """Return the wanted text of each file with generated content. Raises MarkerError, OSError."""
    wanted = {directory / name: write() for name, write in files().items()}
    found = _blocks(directory)
    used = set()
    for path in sorted(directory.rglob("*.md")):
        page = wanted.get(path) or path.read_text()
        if named := blocks.names_in(page):
            used |= set(named)
            wanted[path] = blocks.filled(page, found, str(path))
    if unused := found.keys() - used:
        raise blocks.MarkerError(f"no page shows {', '.join(sorted(unused))}")
    for path in example_tags.pages(directory):
        if path.exists():
            page = wanted.get(path) or path.read_text()
            wanted[path] = example_tags.with_version(page, __version__)
    return wanted | _site(directory) | chart_page.pages(directory.parent / CHARTS)


def files() -> dict[str, Callable[[], str]]:
    """Return the files that are completely generated, by their paths in docs/."""
    return {
        "reference/metrics.md": metrics_page.page,
        "reference/reasons.md": reasons_page.render,
        "episode-pod.svg": lambda: pod_picture.render(pod_mounts.rows()),
        **{f"{name}.svg": partial(picture.render, found) for name, found in _DIAGRAMS.items()},
    }


def _blocks(directory: Path) -> dict[str, blocks.Block]:
    tables: dict[str, blocks.Block] = {}
    for kind in _KINDS:
        name = kind.lower()
        tables[f"{name}-spec"] = partial(fields_table.fields, kind, "spec")
        tables[f"{name}-status"] = partial(fields_table.fields, kind, "status")
        tables[f"{name}-refusals"] = partial(fields_table.refusals, kind)
        tables[f"{name}-columns"] = partial(fields_table.columns, kind)
    return tables | {
        "subtask-phases": partial(_mermaid, "subtask-phases"),
        "package-phases": partial(_mermaid, "package-phases"),
        "requirements": requirements_table.render,
        "stages": stages_table.render,
        "commands": cli_page.render,
        "conditions": conditions_table.render,
        "order": partial(contract_page.render, Order),
        "report": partial(contract_page.render, Report),
        "labels": partial(names_table.render, names_table.LABELS),
        "annotations-written": partial(names_table.render, names_table.WRITTEN),
        "annotations-read": partial(names_table.render, names_table.READ),
        "values": partial(values_table.render, directory.parent / values_table.CHART),
        "volumes": pod_mounts.table,
        "how-tos": partial(page_lists.folder_list, directory, "how-to"),
        "references": partial(page_lists.folder_list, directory, "reference"),
        "decisions": partial(page_lists.decision_list, directory),
    }


def _mermaid(name: str) -> str:
    return f"```mermaid\n{mermaid.render(_DIAGRAMS[name])}\n```"


def _site(directory: Path) -> dict[Path, str]:
    site = directory.parent / SITE
    begin, end = _NAVIGATION
    before, found, rest = site.read_text().partition(begin)
    _, ended, after = rest.partition(end)
    if not found or not ended:
        raise blocks.MarkerError(f"{site} needs the lines {begin.strip()} and {end.strip()}")
    return {site: f"{before}{begin}{page_lists.navigation(directory)}{end}{after}"}


def main(arguments: list[str] | None = None) -> int:
    """Write or check the files; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.docsgen.generate", description=__doc__)
    parser.add_argument("directory", type=Path, metavar="DIR")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if not current")
    options = parser.parse_args(arguments)
    stale = {
        path: text
        for path, text in texts(options.directory).items()
        if not path.exists() or path.read_text() != text
    }
    if options.check:
        for path in stale:
            sys.stderr.write(f"not current: {path}; run make docs\n")
        return 1 if stale else 0
    for path, text in stale.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""Writes the manifests for `kubectl apply -k` from the charts.

    python -m tools.release.manifests

Must not decide their content, which the charts do.
"""

import subprocess
import sys
from pathlib import Path

import yaml

from tools.singlenode import binaries

REPOSITORY = Path(__file__).resolve().parents[2]
MANIFESTS = REPOSITORY / "deploy" / "manifests"
NAMESPACE = "afresh-system"
HEADER = "# Generated from charts/{} by `make manifests`; not to be edited.\n"
# File, chart, values.
FILES = (
    ("crds/crds.yaml", "afresh-crds", ("keep=false",)),
    ("operator/operator.yaml", "afresh", ()),
    ("namespaced/operator.yaml", "afresh", ("namespaces={team-a}",)),
)


def texts() -> dict[Path, str]:
    """Return the wanted text of each generated file. Raises CalledProcessError if Helm fails."""
    return {MANIFESTS / name: _text(chart, values) for name, chart, values in FILES}


def _text(chart: str, values: tuple[str, ...]) -> str:
    settings = [word for value in values for word in ("--set", value)]
    folder = str(REPOSITORY / "charts" / chart)
    rendered = subprocess.run(
        [str(binaries.path("helm")), "template", chart, folder, "-n", NAMESPACE, *settings],
        check=True, stdout=subprocess.PIPE, text=True,
    ).stdout  # fmt: skip
    objects = [item for item in yaml.safe_load_all(rendered) if item]
    body = yaml.safe_dump_all(objects, sort_keys=False, width=100, explicit_start=True)
    return HEADER.format(chart) + body


def main() -> int:
    """Write the files; return the exit code."""
    for path, text in texts().items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

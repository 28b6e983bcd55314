"""`afresh validate` and the API server say yes and no to the same files."""

from pathlib import Path

import pytest

from afresh.cli.manifest.checked_file import check_file
from tests.apiserver.kubectl import Kubectl

pytestmark = pytest.mark.apiserver

TEXT = """\
apiVersion: afresh.dev/v1alpha1
kind: WorkPackage
metadata:
  name: verdicts
spec:
  agentClassName: claude
  repository:
    url: https://git.example.com/team/api.git
  verify:
    command: ["true"]
  {more}
  subtasks:
    - id: T001
      prompt: Add a token model.
      {of_subtask}
"""
# What YAML makes of plain texts, and what JSON has no other word for.
LINES = {
    "a time as a text": ("goal: 08:30", ""),
    "a date as a text": ("goal: 2026-01-01", ""),
    "a number for a text": ("goal: 1e3", ""),
    "yes for a text": ("goal: yes", ""),
    "y for a switch": ("suspend: y", ""),
    "off for a switch": ("suspend: off", ""),
    "a text for a switch": ('suspend: "true"', ""),
    "a text for a switch of the repository": ("suspend: n", 'skip: "no"'),
    "a number for a switch": ("suspend: 1", ""),
    "a number with an exponent": ("maxEpisodes: 1e2", ""),
    "a number with a point": ("maxEpisodes: 50.0", ""),
    "half a number": ("maxEpisodes: 50.5", ""),
    "an octal number": ("maxEpisodes: 0100", ""),
    "a hexadecimal number": ("maxEpisodes: 0x64", ""),
    "a number with underscores": ("maxEpisodes: 1_00", ""),
    "null for an absent text": ("image:", ""),
    "null for a field with a default": ("parallelism: ~", ""),
    "null for an object": ("budget: null", ""),
    "null for a list": ("guidance: null", ""),
    "null for a prompt of a second subtask": ("goal: a", "title:"),
    "an empty object": ("budget: {}", ""),
    "an unknown field": ("paralelism: 2", ""),
    "an unknown field of a subtask": ("goal: a", "depends_on: []"),
    "an unknown quantity": ("resources: {limits: {gpu: 1}}", ""),
    "a fraction for a quantity": ("resources: {limits: {cpu: 0.5}}", ""),
    "a list for an object": ("budget: []", ""),
    "an object for a list": ("guidance: {a: b}", ""),
    "a merged object": ("budget: {<<: {maxTokens: 5}}", ""),
}


@pytest.mark.parametrize(("more", "of_subtask"), LINES.values(), ids=LINES.keys())
def test_file_has_errors_if_and_only_if_the_server_refuses_it(
    more: str, of_subtask: str, kubectl: Kubectl, tmp_path: Path
) -> None:
    file = tmp_path / "package.yaml"
    file.write_text(TEXT.format(more=more, of_subtask=of_subtask))

    answer = kubectl.run("apply", "--server-side", "--dry-run=server", "-f", str(file))

    faults = check_file("f", file.read_bytes()).faults
    assert bool(faults) == bool(answer.returncode), (faults, answer.stderr)

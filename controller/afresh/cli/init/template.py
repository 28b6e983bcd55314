"""The text of a first package, with a comment on each field. Pure."""

import json
import re
from dataclasses import dataclass
from typing import Any

SCHEMA_FILE = "workpackage.schema.json"
PLACEHOLDER_URL = "https://git.example.com/TEAM/REPOSITORY.git"
MAX_SLUG = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class FirstPackage:
    """What the text is about; comments are sentences."""

    folder: str
    languages: tuple[str, ...]
    url: str | None
    base: str
    agent: str
    agents: tuple[str, ...]
    verify: tuple[str, ...]
    verify_comment: str
    setup: tuple[str, ...] | None
    readme: str

    @property
    def name(self) -> str:
        """The name of the package: that of the folder, as far as objects may have it."""
        slug = re.sub(r"[^a-z0-9]+", "-", self.folder.lower())[:MAX_SLUG].strip("-")
        return f"{slug or 'repository'}-first"


def render_package(package: FirstPackage) -> str:
    """Return the text of the file."""
    return f"""\
# yaml-language-server: $schema={SCHEMA_FILE}
#
# A package of work for coding agents: each subtask is done by an agent that starts afresh.
# `afresh validate` checks this file; an editor completes fields by the schema beside it.
apiVersion: afresh.dev/v1alpha1
kind: WorkPackage
metadata:
  # The work goes to the branch afresh/{package.name}.
  name: {package.name}
spec:
  # What the whole package is for; agents read it.
  goal: {_value(_goal(package))}
  # {_agents_comment(package)}
  agentClassName: {package.agent}
  repository:
    # {_url_comment(package)}
    url: {_value(package.url or PLACEHOLDER_URL)}
    # The branch or tag from which the work starts.
    baseRef: {_value(package.base)}
    # On a cluster: the Secret with the credentials for the repository.
    # secretName: git-credentials
{_setup(package)}\
  # A subtask is done only when this command exits with 0, on a clean checkout of its commit.
  # {package.verify_comment}
  verify:
    command: {_value(list(package.verify))}
    timeoutSeconds: 300
  # How many subtasks may run at a time.
  parallelism: 1
  # One piece of work each, small enough to be checked by the acceptance command.
  subtasks:
    - id: T001
      title: Describe how to run the tests
      # What the agent is asked to do. It sees this, the goal and the repository, and nothing else.
      prompt: |
        Add a section "Tests" to {package.readme}: in at most ten lines, what the tests need
        and how to run them.
      # The only files that may change; leave it out to allow any.
      files: {_value([package.readme])}
    # - id: T002
    #   title: The next piece
    #   prompt: |
    #     What is to be done, in the present tense.
    #   dependsOn: [T001]
    #   verify:
    #     command: ["sh", "-c", "a command of its own"]
"""


def _value(value: Any) -> str:
    """Return a value as JSON, which is YAML."""
    return json.dumps(value, ensure_ascii=False)


def _goal(package: FirstPackage) -> str:
    languages = " and ".join(package.languages[:2])
    return f"Improve the documentation of this {languages + ' ' if languages else ''}project."


def _agents_comment(package: FirstPackage) -> str:
    if not package.agents:
        return "The agent; no agent program was found here. On a cluster: an AgentClass."
    return f"The agent. Installed here: {', '.join(package.agents)}. On a cluster: an AgentClass."


def _url_comment(package: FirstPackage) -> str:
    if package.url:
        return "The origin of this clone."
    return "This clone has no origin that a cluster could use: write the address here."


def _setup(package: FirstPackage) -> str:
    if not package.setup:
        return ""
    return f"""\
  # Prepares a checkout; it runs before the agent and before verify.
  setup:
    command: {_value(list(package.setup))}
    timeoutSeconds: 600
"""

"""The requirements on an agent's image, and the result of a conformance trial.

The runner tests each requirement inside the image (`afresh.episode.conformance`); `afresh
conformance` shows the findings. docs/how-to/agent-images.md is generated from REQUIREMENTS.
"""

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """The level of a requirement, as in RFC 2119."""

    MUST = "MUST"
    SHOULD = "SHOULD"


class CheckResult(StrEnum):
    """The result for one requirement. Not tested: an earlier one failed, or it does not apply."""

    PASSED = "passed"
    FAILED = "failed"
    NOT_TRIED = "not tried"


@dataclass(frozen=True, slots=True, kw_only=True)
class Requirement:
    """One requirement. `text` follows the level: "The image MUST ..."; `remedy` says what to do."""

    id: str
    level: Level
    text: str
    remedy: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result for the requirement `id`; `detail` is one line, for people."""

    id: str
    verdict: CheckResult
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """One trial, in the order of REQUIREMENTS."""

    findings: tuple[Finding, ...]

    @property
    def conforms(self) -> bool:
        """Whether every MUST passed or does not apply."""
        musts = {item.id for item in REQUIREMENTS if item.level is Level.MUST}
        return bool(self.findings) and not any(
            finding.id in musts and finding.verdict is CheckResult.FAILED
            for finding in self.findings
        )


SHELL = Requirement(
    id="shell",
    level=Level.MUST,
    text="have a `/bin/sh` that is dash, bash or busybox: it is the container's first process, "
    "sets the limit of processes and starts everything else",
    remedy="install dash, bash or busybox as /bin/sh",
)
PROGRAM = Requirement(
    id="program",
    level=Level.MUST,
    text="have the agent program on the PATH of its environment",
    remedy="install the program where the image's PATH finds it, for every user to run",
)
STARTS = Requirement(
    id="starts",
    level=Level.MUST,
    text="let the program start as a user that the image does not know, with an empty HOME and "
    "without writing anywhere but HOME, `/tmp` and the worktree",
    remedy="run the program once with a read-only root and an empty HOME, and move what it writes",
)
MODEL = Requirement(
    id="model",
    level=Level.MUST,
    text="let the program reach its model where the adapter says, and end by itself when that "
    "refuses to answer",
    remedy="remove what overrides the adapter's settings: environment variables, a configuration "
    "outside of HOME, a wrapper script",
)
ENDS = Requirement(
    id="ends",
    level=Level.MUST,
    text="leave nothing that outlives a KILL of all its processes",
    remedy="start no process under another user: the image must not need sudo or setuid programs",
)
CLEAN = Requirement(
    id="clean",
    level=Level.SHOULD,
    text="let the program leave the worktree as it is when it does nothing",
    remedy="turn off what writes there, or have .gitignore name it: it would be committed",
)
GIT = Requirement(
    id="git",
    level=Level.SHOULD,
    text="have git: agents look at their own changes with it, and builds ask it for files",
    remedy="install git",
)
CERTIFICATES = Requirement(
    id="certificates",
    level=Level.SHOULD,
    text="have the public certificate authorities at `/etc/ssl/certs/ca-certificates.crt`",
    remedy="install ca-certificates",
)
VERSION = Requirement(
    id="version",
    level=Level.SHOULD,
    text="have the version of the program that the adapter is tested with",
    remedy="pin that version, or try the episodes of a test package before a team uses the image",
)

REQUIREMENTS = (SHELL, PROGRAM, STARTS, MODEL, ENDS, CLEAN, GIT, CERTIFICATES, VERSION)

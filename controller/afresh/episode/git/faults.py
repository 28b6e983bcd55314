"""Why git failed, as found in its messages (in the C locale).

Owns the patterns. Runs nothing.
"""

import re
from enum import Enum, auto


class GitFault(Enum):
    """Why git failed."""

    DENIED = auto()
    NOT_FOUND = auto()
    REF_MISSING = auto()
    NO_EXCLUDE = auto()  # the server cannot exclude a ref's commits, or no commits would be left
    MOVED = auto()  # the compare-and-swap failed
    REFUSED = auto()  # a protected branch, or an impossible name
    HOOK = auto()  # a hook or rule of the server
    UNSIGNED = auto()
    AUTHOR = auto()  # the author of the commit is not accepted
    TOO_LARGE = auto()  # a file or a push beyond the server's limit
    FULL = auto()  # the repository beyond its quota
    READ_ONLY = auto()  # pushes are not possible: archived, mirrored, or a read-only key
    REDIRECTED = auto()
    UNTRUSTED = auto()  # a certificate or a host key
    UNREACHABLE = auto()
    OTHER = auto()


# A server's own messages about a push are read before git's. A warning refuses nothing.
_SAID = re.compile(r"(?m)^(?:remote|ERROR): (?!\s*[Ww]arning:).*$|\[remote rejected\] \(.*\)$")
_WORDS: tuple[tuple[GitFault, str], ...] = (
    # A limit on the number of requests, whatever they contain.
    (
        GitFault.UNREACHABLE,
        r"\brate.?limit|(too many|limit of .{0,40})\b(requests|connections|operations)\b",
    ),
    (
        GitFault.FULL,
        r"quota exceeded|over (its |the )?(disk |storage )?quota"
        r"|exceed(ed)? (its|the) ((allocated )?storage|size) (limit|quota)"
        r"|exceed(ed)? the allocated storage",
    ),
    (
        GitFault.TOO_LARGE,
        r"pack exceeds maximum allowed size|large files detected|too (large|big)\b"
        r"|exceed(s|ed|ing)? .{0,80}\blimit|exceed(s|ed|ing)? .{0,40}\bsize",
    ),
    (
        GitFault.UNSIGNED,
        r"verified signature|must be signed|unsigned commit|not signed|signature is required",
    ),
    (
        GitFault.AUTHOR,
        r"cannot push commits for|(author|committer)\b.{0,120}"
        r"(does not follow|not a (member|user)|is not (allowed|registered)|is invalid|unknown)",
    ),
    (
        GitFault.READ_ONLY,
        r"(is|was|been) archived|marked as read[- ]only|(is|key is) (currently )?read[- ]only",
    ),
    (GitFault.REFUSED, r"protected branch|GH006|branch is protected"),
    (GitFault.UNREACHABLE, r"no space left on device"),
)
# The first pattern that matches counts.
_PATTERNS: tuple[tuple[GitFault, str], ...] = (
    (GitFault.REF_MISSING, r"couldn't find remote ref|no such remote ref|not our ref"),
    # Over HTTP, a server that fails at a shallow request appears to violate the protocol.
    (
        GitFault.NO_EXCLUDE,
        r"no commits selected for shallow|deepen-not|does not support --?\S*(shallow|deepen)"
        r"|processing shallow info|expected 'packfile'|expected shallow",
    ),
    (GitFault.REFUSED, r"'refs/heads/\S+' exists; cannot create"),
    (
        GitFault.MOVED,
        r"stale info|fetch first|non-fast-forward|cannot lock ref|reference already exists",
    ),
    (
        GitFault.DENIED,
        r"could not read (Username|Password)|Authentication failed|returned error: 40[13]"
        r"|HTTP 40[13]|Permission denied|Permission to \S+ denied|[Aa]ccess denied|not authorized",
    ),
    (GitFault.UNREACHABLE, r"No space left on device"),
    (GitFault.HOOK, r"hook declined"),
    (GitFault.REFUSED, r"\[remote rejected\]"),
    (GitFault.TOO_LARGE, r"returned error: 413|HTTP 413"),
    (GitFault.REDIRECTED, r"returned error: 30\d|unable to update url base from redirection"),
    (
        GitFault.NOT_FOUND,
        r"repository '.*' not found|returned error: 404|does not appear to be a git repository"
        r"|not valid: is this a git repository|Repository not found|transport '.*' not allowed"
        r"|could not be found or you don't have permission",
    ),
    (
        GitFault.UNTRUSTED,
        r"certificate verif|certificate problem|SSL certificate|Host key verification failed"
        r"|error setting certificate",
    ),
    (
        GitFault.UNREACHABLE,
        r"Could not resolve|Failed to connect|Connection (refused|reset|timed out|closed)"
        r"|returned error: (429|5\d\d)|early EOF|RPC failed|hung up|No route to host|timed out"
        r"|Operation too slow|Empty reply|gnutls|SSL_|unable to access"
        # The only message when a server behind SSH breaks the connection.
        r"|Could not read from remote repository",
    ),
)


class GitError(Exception):
    """Git failed. The message is git's and may contain URLs: redact it before showing it."""

    def __init__(self, command: str, text: str, *, fault: GitFault = GitFault.UNREACHABLE) -> None:
        super().__init__(f"git {command}: {text.strip()}")
        self.fault = fault


def classify(text: str) -> GitFault:
    """Return why git failed, from its output."""
    words = "\n".join(_SAID.findall(text))
    for fault, pattern in _WORDS:
        if re.search(pattern, words, re.IGNORECASE):
            return fault
    return next((fault for fault, pattern in _PATTERNS if re.search(pattern, text)), GitFault.OTHER)

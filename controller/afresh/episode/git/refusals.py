"""The end of an episode whose remote fails: one message for each fault, with what to correct.

Owns these messages and their outcomes. Runs nothing and reads no Secret.
"""

from urllib.parse import urlsplit, urlunsplit

from afresh.contract.order import Order
from afresh.contract.words import Outcome
from afresh.episode.git.faults import GitError, GitFault
from afresh.episode.stopped import SubtaskStopped

_CONFIG: dict[GitFault, str] = {
    GitFault.NOT_FOUND: "The repository {url} is not found, or its credentials may not see it; "
    "correct spec.repository.secretName, or recreate the WorkPackage with another "
    "spec.repository.url.",
    GitFault.REDIRECTED: "The repository {url} answers with a redirect; "
    "recreate the WorkPackage with the spec.repository.url that it leads to.",
    GitFault.UNTRUSTED: "The identity of the server of {url} cannot be verified; "
    "add the key ca.crt to the git Secret, or known_hosts for SSH.",
    GitFault.REFUSED: 'The server of {url} refuses to update branch "{branch}"; '
    "allow it, or recreate the WorkPackage with another spec.repository.branch.",
    GitFault.HOOK: 'A rule of the server of {url} declines the push to branch "{branch}"; '
    "allow it there, or follow the rule that the runner's log names.",
    GitFault.UNSIGNED: 'The server of {url} accepts only signed commits on branch "{branch}"; '
    "name a key that it knows in spec.repository.signing of the WorkPackage.",
    GitFault.AUTHOR: 'The server of {url} refuses the author of the commits on branch "{branch}"; '
    "correct spec.repository.author of the WorkPackage.",
    GitFault.READ_ONLY: "The repository {url} or the key for it is read-only; allow pushes there.",
    GitFault.FULL: "The repository {url} has reached its server's quota; "
    "free some space there or raise the quota.",
}
# The agent caused this: the next one may avoid it.
_TOO_LARGE = (
    "The server of {url} refuses a push or a file of this size; "
    "exclude large files in spec.guidance of the WorkPackage, or raise the server's limit."
)


# Faults that every package with the same credentials would meet, whatever its branch.
_OF_SERVER = frozenset({GitFault.NOT_FOUND, GitFault.REDIRECTED, GitFault.UNTRUSTED})


def remote_problem(order: Order, error: GitError) -> SubtaskStopped:
    """Return the end of an episode for which git failed at the remote."""
    repository = order.repository
    names = {"url": public_url(repository.url), "branch": repository.branch}
    if error.fault is GitFault.DENIED:
        return SubtaskStopped(Outcome.AUTH, _denied(order, names["url"]), is_servers=True)
    if error.fault is GitFault.TOO_LARGE:
        return SubtaskStopped(Outcome.AGENT_ERROR, _TOO_LARGE.format(**names))
    if error.fault in _CONFIG:
        message = _CONFIG[error.fault].format(**names)
        return SubtaskStopped(Outcome.CONFIG, message, is_servers=error.fault in _OF_SERVER)
    return unreachable(repository.url)


def no_base(order: Order) -> SubtaskStopped:
    """Return the end of an episode whose base ref does not exist."""
    return SubtaskStopped(
        Outcome.CONFIG,
        f"The repository {public_url(order.repository.url)} has no ref "
        f'"{order.repository.base_ref}"; push it, or recreate the WorkPackage with another '
        "spec.repository.baseRef.",
    )


def branch_deleted(order: Order) -> SubtaskStopped:
    """Return the end of an episode whose branch was deleted meanwhile."""
    return SubtaskStopped(
        Outcome.CONFLICT,
        f'The branch "{order.repository.branch}" was deleted by someone else; push it again if '
        "its commits are needed, or the next episode starts a new branch.",
    )


def foreign_commits(order: Order) -> SubtaskStopped:
    """Return the end of an episode whose branch has commits of another namespace's package."""
    url, branch = public_url(order.repository.url), order.repository.branch
    return SubtaskStopped(
        Outcome.BRANCH_IN_USE,
        "Recreate the WorkPackage with another spec.repository.branch: the branch "
        f'"{branch}" of {url} has commits of another package.',
    )


def declined(order: Order) -> SubtaskStopped:
    """Return the end of an episode whose server does not update a branch that has not moved."""
    return remote_problem(order, GitError("push", "declined", fault=GitFault.HOOK))


def unreachable(url: str, field: str = "spec.repository.url of the WorkPackage") -> SubtaskStopped:
    """Return the end of an episode whose server does not answer at `url`, the value of `field`."""
    return SubtaskStopped(
        Outcome.INFRASTRUCTURE,
        f"The repository {public_url(url)} cannot be reached; check {field} and the network.",
        is_servers=True,
    )


def public_url(url: str) -> str:
    """Return the URL without a user name or password."""
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def _denied(order: Order, url: str) -> str:
    name = order.repository.secret_name
    if name is None:
        return (
            f"The repository {url} asks for credentials; "
            "name a Secret in spec.repository.secretName of the WorkPackage."
        )
    namespace = order.package.partition("/")[0]
    return (
        f'The repository {url} denies access with the credentials of Secret "{name}" '
        f'in namespace "{namespace}"; correct that Secret.'
    )

"""Keeps the work of a failed attempt on a side ref, where people find it and agents do not.

Owns the ref's name. A later attempt replaces an earlier one. Nothing here changes how an episode
ends.
"""

import time
from dataclasses import replace

from afresh.contract.order import Order, Task
from afresh.episode.context import EpisodeContext
from afresh.episode.git import authorship, refusals
from afresh.episode.git.faults import GitError, GitFault
from afresh.episode.git.overlay import publish
from afresh.episode.git.repository import GitRepository
from afresh.episode.stopped import SubtaskStopped

LIMIT_SECONDS = 20.0
# A single paragraph, so that none of it is read as trailers.
MESSAGE = "Unfinished work\n"


def keep_commit(context: EpisodeContext, task: Task, commit: str) -> str | None:
    """Push a verified commit unchanged to the subtask's side ref; a later episode pushes it.

    Returns a sentence for people if that fails, else None. Raises nothing.
    """
    ref = side_ref(context.order, task.id)
    try:
        _push(_bounded(context.git), context.order, f"+{commit}:{ref}")
    except (GitError, OSError) as error:
        context.log.ended(error)
        return _why(context.order, ref, error)
    return None


def keep(context: EpisodeContext, task: Task, head: str, tree: str) -> str | None:
    """Push a commit of `tree` on top of `head` to the subtask's side ref.

    Returns a sentence for people if that fails, else None. Raises nothing.
    """
    git = _bounded(context.git)
    ref = side_ref(context.order, task.id)
    try:
        made = authorship.commit(git, context.order, tree, head, MESSAGE)
        publish(git, context.order)
        _push(git, context.order, f"+{made}:{ref}")
    except SubtaskStopped as ended:
        return f"The unfinished work is not kept. {ended.message}"
    except (GitError, OSError) as error:
        context.log.ended(error)
        return f"The unfinished work is not kept. {_why(context.order, ref, error)}"
    return None


def remove(context: EpisodeContext, subtask: str) -> str | None:
    """Remove the subtask's side ref, if there is one.

    Returns a sentence for people if that fails, else None. Raises nothing.
    """
    ref = side_ref(context.order, subtask)
    try:
        _push(_bounded(context.git), context.order, f":{ref}")
    except (GitError, OSError) as error:
        if "remote ref does not exist" in str(error):
            return None
        context.log.ended(error)
        return f"The ref {ref} is not removed. {_why(context.order, ref, error)}"
    return None


def side_ref(order: Order, subtask: str) -> str:
    """Return the name of the subtask's side ref."""
    return "/".join(("refs/afresh", *map(_component, (*order.package.split("/"), subtask))))


def _component(name: str) -> str:
    """Return a name in a form that git allows in a ref; no name contains a `%` by itself."""
    stem = name.removesuffix(".lock")
    return stem.replace("..", "%2E%2E") + ("%2Elock" if stem != name else "")


def _bounded(git: GitRepository) -> GitRepository:
    return replace(git, deadline=time.monotonic() + LIMIT_SECONDS)


def _push(git: GitRepository, order: Order, refspec: str) -> None:
    git.run(
        *("push", "--quiet", "--porcelain", "--no-verify"),
        *("--", order.repository.url, refspec),
    )


def _why(order: Order, ref: str, error: GitError | OSError) -> str:
    if isinstance(error, GitError) and error.fault in (
        GitFault.REFUSED,
        GitFault.HOOK,
        GitFault.MOVED,
    ):
        return f"The server of {refusals.public_url(order.repository.url)} refuses {ref}."
    if isinstance(error, GitError) and error.fault is not GitFault.OTHER:
        return refusals.remote_problem(order, error).message
    return "The log of the runner shows why."

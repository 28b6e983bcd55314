"""The author and the signature of commits for the branch.

Owns the private copy of the signing key and the only program that reads it. Commits that only an
agent sees are not made here; they have a fixed author and no signature.
"""

import subprocess
from functools import partial
from pathlib import Path

from afresh.contract.order import Order
from afresh.contract.words import Outcome
from afresh.episode.credentials import SSH_KEY, SecretMount, private
from afresh.episode.git.faults import GitError, GitFault
from afresh.episode.git.repository import (
    LOCAL_ENVIRONMENT,
    CommitIdentity,
    GitRepository,
    search_path,
)
from afresh.episode.paths import Paths
from afresh.episode.stopped import SubtaskStopped

KEY = "signing-key"
SIGN_SECONDS = 30


def commit(git: GitRepository, order: Order, tree: str, parent: str | None, text: str) -> str:
    """Write a commit with the Order's author and signature, and return its id.

    Raises GitError if it cannot be signed.
    """
    author, identity = order.repository.author, CommitIdentity()
    if author:
        identity = CommitIdentity(author=f"{author.name} <{author.email}>")
    if order.repository.signing_secret_name:
        identity = CommitIdentity(author=identity.author, sign=partial(_sign, git.git_dir / KEY))
    return git.commit_tree(tree, parent, text, identity=identity)


def prepare_key(order: Order, paths: Paths) -> None:
    """Copy the signing key and test it. Raises SubtaskStopped if the Secret has no usable key."""
    name = order.repository.signing_secret_name
    if name is None:
        return
    secret = SecretMount(
        name=name,
        namespace=order.package.partition("/")[0],
        field="spec.repository.signing.secretName of the WorkPackage",
        directory=paths.signing_secret,
    )
    key = paths.git_dir / KEY
    private(key, secret.require(SSH_KEY) + "\n")
    try:
        _sign(key, b"")
    except GitError as error:
        raise SubtaskStopped(
            Outcome.CONFIG,
            f'The key "{SSH_KEY}" of Secret "{name}" in namespace "{secret.namespace}" cannot '
            "sign; give it an SSH private key without a passphrase.",
        ) from error


def _sign(key: Path, content: bytes) -> str:
    try:
        done = subprocess.run(  # noqa: S603  # arguments are a list, never a shell's
            ["ssh-keygen", "-Y", "sign", "-n", "git", "-f", str(key)],  # noqa: S607  # the image's
            input=content,
            capture_output=True,
            env={"PATH": search_path(), "LC_ALL": LOCAL_ENVIRONMENT["LC_ALL"]},
            start_new_session=True,  # without a terminal there is no prompt for a passphrase
            timeout=SIGN_SECONDS,
            check=True,
        )
    except (subprocess.SubprocessError, OSError) as error:
        raise GitError("sign", "the commit cannot be signed", fault=GitFault.OTHER) from error
    return done.stdout.decode()

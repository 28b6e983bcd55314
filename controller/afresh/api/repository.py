"""The git repository of a package, the ref to start from and the branch to work on."""

from typing import Annotated

from pydantic import Field

from afresh.api.meta import ApiModel, DnsName
from afresh.api.rules import MapBy, Matching, Rule

_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"
_HOST = rf"(\[[0-9A-Fa-f:]+\]|{_NAME})"
_PATH = r"[^/\s?#][^\s?#]*"

RepositoryUrl = Annotated[
    str,
    Field(max_length=1024),
    Matching(
        r"^https?://[^/]*@|^ssh://[^/]*:[^/]*@",
        "url contains credentials: remove the part before the @, put the credentials into a Secret"
        " and name it in spec.repository.secretName",
        refuse=True,
    ),
    Matching(
        rf"^((https?|ssh)://([^/]*@)?{_HOST}(:[0-9]+)?/{_PATH}|{_NAME}@{_HOST}:/?{_PATH})$",
        "url must be the address of a git repository: https://HOST/PATH,"
        " ssh://USER@HOST/PATH or USER@HOST:PATH",
    ),
]
"""The address of a git repository, without credentials."""

GitRef = Annotated[
    str,
    Field(min_length=1, max_length=200),
    Matching(
        r"[\x00-\x20\x7f~^:?*\[\\]|(^|/)[.]|[.]lock(/|$)|//|[.][.]|^[-/]|[/.]$|@[{]|^refs/|^@$|^HEAD$",
        "must be the name of a git branch: no blanks, no '..', no '-' or '/' at the start, no"
        " '.lock' at the end, and without 'refs/heads/'",
        refuse=True,
    ),
]
"""The short name of a branch."""


AuthorName = Annotated[
    str,
    Field(min_length=1, max_length=100),
    Matching(
        r"[\x00-\x1f\x7f<>]|^[ .,:;\"]|[ .,:;\"]$",
        "must be a name that git keeps unchanged: without '<', '>' or line ends, and with no blank"
        " or punctuation at either end",
        refuse=True,
    ),
]

Email = Annotated[
    str,
    Field(max_length=254),
    Matching(
        r"^[^\x00-\x20\x7f<>@]+@[^\x00-\x20\x7f<>@]+$", "must be an e-mail address: NAME@HOST"
    ),
]


class AuthorSpec(ApiModel):
    """The author and committer of the commits."""

    name: AuthorName
    """The name of the author and committer."""
    email: Email
    """The e-mail address of the author and committer."""


class Signing(ApiModel):
    """How the commits are signed: with an SSH key, as git does with gpg.format=ssh."""

    secret_name: DnsName
    """Name of the Secret with ssh-privatekey, a key without a passphrase. Only the runner mounts
    the Secret."""


SubmodulePath = Annotated[
    str,
    Field(min_length=1, max_length=200),
    Matching(
        r"^/|/$|//|(^|/)[.][.]?(/|$)|(^|/)[.][gG][iI][tT](/|$)|^[.]afresh(/|$)|[\x00-\x1f\x7f*?\[\\\\:]",
        "must be a folder of the repository, such as vendor/lib: no '/' at either end and no '..'",
        refuse=True,
    ),
]


class SubmoduleSpec(ApiModel):
    """A submodule whose files are put into every checkout, at the recorded commit."""

    path: SubmodulePath
    """The folder of the submodule in the repository."""
    url: RepositoryUrl
    """The URL from which the submodule is fetched; the URL in .gitmodules is ignored. The Secret of
    the repository is used for HTTP if the submodule is on the same host, and for SSH if known_hosts
    in the Secret names the submodule's host."""


def default_branch(package: str) -> str:
    """Return the name of the branch that is used if the package does not name one."""
    return f"afresh/{package}"


def _transports_agree(repository: "RepositorySpec") -> bool:
    return all(
        item.url.startswith("http") == repository.url.startswith("http")
        for item in repository.submodules
    )


def _is_same_place(old: "RepositorySpec", new: "RepositorySpec") -> bool:
    return (old.url, old.base_ref, old.branch) == (new.url, new.base_ref, new.branch)


def _branch_is_own(repository: "RepositorySpec") -> bool:
    return repository.branch != repository.base_ref


class RepositorySpec(ApiModel):
    """The git repository to work in. Its url, baseRef and branch cannot be changed."""

    RULES = (
        Rule(
            cel="self.url == oldSelf.url && self.baseRef == oldSelf.baseRef"
            " && has(self.branch) == has(oldSelf.branch)"
            " && (!has(self.branch) || self.branch == oldSelf.branch)",
            message="url, baseRef and branch of spec.repository cannot be changed: create a new"
            " WorkPackage for another repository or branch",
            allows=_is_same_place,
        ),
        Rule(
            cel="!has(self.branch) || self.branch != self.baseRef",
            message="branch must differ from baseRef: the work goes to a branch of its own",
            field_path=".branch",
            holds=_branch_is_own,
        ),
        Rule(
            cel="!has(self.submodules) || self.submodules.all(s,"
            " s.url.startsWith('http') == self.url.startsWith('http'))",
            message="every url in spec.repository.submodules must use HTTP if spec.repository.url"
            " does, and SSH if that does",
            field_path=".submodules",
            holds=_transports_agree,
        ),
    )

    url: RepositoryUrl
    """The URL: https://HOST/PATH, ssh://USER@HOST/PATH or USER@HOST:PATH."""
    base_ref: GitRef = "main"
    """The branch or tag from which the work starts."""
    branch: GitRef | None = None
    """The branch to which the work is pushed; absent: afresh/ followed by the name of the
    package."""
    secret_name: DnsName | None = None
    """Name of the Secret with username and password, or with ssh-privatekey and known_hosts, and
    optionally ca.crt."""
    author: AuthorSpec | None = None
    """The author and committer of the commits; absent: Afresh <afresh@localhost>."""
    signing: Signing | None = None
    """How the commits on the branch are signed; absent: they are not signed."""
    cache_claim_name: DnsName | None = None
    """Name of the PersistentVolumeClaim with a mirror of the repository, for large repositories:
    see the docs. Only runners mount it, and all of them write to it."""
    submodules: Annotated[tuple[SubmoduleSpec, ...], MapBy("path")] = Field(
        default=(), max_length=16
    )
    """The submodules to fetch; absent: none, and the folders of submodules are empty. Changes
    inside submodules are not kept."""
    lfs: bool = False
    """Whether files in Git LFS are fetched and pushed; if false, checkouts contain the pointer
    files."""

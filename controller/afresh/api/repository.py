"""Where the work happens: a git repository, the ref to start from and the branch to work on."""

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
        "url holds credentials: remove what stands before the @ and name a Secret"
        " with them in spec.repository.secretName",
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
        "must be a name as git keeps it: without '<', '>' or line ends, and with no blank or"
        " punctuation at either end",
        refuse=True,
    ),
]

Email = Annotated[
    str,
    Field(max_length=254),
    Matching(r"^[^\x00-\x20\x7f<>@]+@[^\x00-\x20\x7f<>@]+$", "must be an address: NAME@HOST"),
]


class AuthorSpec(ApiModel):
    """Who the commits are by."""

    name: AuthorName
    """The name of author and committer."""
    email: Email
    """Their e-mail address."""


class Signing(ApiModel):
    """How the commits are signed: as git does with gpg.format ssh."""

    secret_name: DnsName
    """The Secret with ssh-privatekey, a key without a passphrase. Only the runner holds it."""


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
    """A submodule that checkouts have the files of, as they are at the commit that is recorded."""

    path: SubmodulePath
    """Its folder in the repository."""
    url: RepositoryUrl
    """Where it is fetched from; what .gitmodules says is not used. By HTTP the Secret of the
    repository is used if it is on the same host, by SSH if known_hosts names its host."""


def default_branch(package: str) -> str:
    """Return the branch of a package that names none."""
    return f"afresh/{package}"


def _transports_agree(repository: "RepositorySpec") -> bool:
    return all(
        item.url.startswith("http") == repository.url.startswith("http")
        for item in repository.submodules
    )


def _branch_is_own(repository: "RepositorySpec") -> bool:
    return repository.branch != repository.base_ref


class RepositorySpec(ApiModel):
    """Where the work happens. Its url, baseRef and branch cannot be changed."""

    RULES = (
        Rule(
            cel="self.url == oldSelf.url && self.baseRef == oldSelf.baseRef"
            " && has(self.branch) == has(oldSelf.branch)"
            " && (!has(self.branch) || self.branch == oldSelf.branch)",
            message="url, baseRef and branch of spec.repository cannot be changed: make a new"
            " WorkPackage for another repository or branch",
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
            message="the url of every entry of spec.repository.submodules must be by HTTP if"
            " spec.repository.url is, and by SSH if that is",
            field_path=".submodules",
            holds=_transports_agree,
        ),
    )

    url: RepositoryUrl
    """The address: https://HOST/PATH, ssh://USER@HOST/PATH or USER@HOST:PATH."""
    base_ref: GitRef = "main"
    """The branch or tag that the work starts from."""
    branch: GitRef | None = None
    """The branch that the work goes to; absent: afresh/ and the name of the package."""
    secret_name: DnsName | None = None
    """The Secret with username and password, or ssh-privatekey and known_hosts, and optionally
    ca.crt."""
    author: AuthorSpec | None = None
    """Who the commits are by; absent: Afresh <afresh@localhost>."""
    signing: Signing | None = None
    """Signs every commit on the branch; absent: none is signed."""
    cache_claim_name: DnsName | None = None
    """The PersistentVolumeClaim that keeps a mirror, for large repositories: see the docs. Only
    runners mount it, and all of them write to it."""
    submodules: Annotated[tuple[SubmoduleSpec, ...], MapBy("path")] = Field(
        default=(), max_length=16
    )
    """The submodules to fetch; absent: none, and their folders are empty. Changes in them are not
    kept."""
    lfs: bool = False
    """Whether files in Git LFS are fetched and pushed; else they stay pointers."""

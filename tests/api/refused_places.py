"""Addresses, branches and names that are refused."""

from tests.api.manifests import ABSENT
from tests.api.refusal import Refusal, of_package

_REF_SENTENCE = "must be the name of a git branch"
_CREDENTIALS_SENTENCE = "url contains credentials"
_FOLDER = "must be a folder of the repository"
_URL_SENTENCE = "url must be the address of a git repository"


def _url(id_: str, url: str, sentence: str) -> Refusal:
    return of_package(id_, {"spec.repository.url": url}, "spec.repository.url", sentence)


def _branch(id_: str, branch: str) -> Refusal:
    return of_package(
        id_, {"spec.repository.branch": branch}, "spec.repository.branch", _REF_SENTENCE
    )


def _submodule(id_: str, path: str, url: str, sentence: str) -> Refusal:
    changes = {"spec.repository.submodules": [{"path": path, "url": url}]}
    return of_package(id_, changes, "spec.repository.submodules", sentence)


PLACES = (
    *(
        _submodule(f"submodule at {path!r}", path, "https://git.example.com/b.git", _FOLDER)
        for path in ("/etc", "a/../b", "..", "a/", "a//b", ".git/modules", "a/.GIT", ".afresh/x")
    ),
    _submodule("submodule by SSH", "lib", "git@git.example.com:b.git", "must use HTTP"),
    _submodule(
        "submodule's password", "lib", "https://me:p@git.example.com/b", "contains credentials"
    ),
    _url("password in the URL", "https://me:secret@git.example.com/a.git", _CREDENTIALS_SENTENCE),
    _url("token in the URL", "https://token@git.example.com/a.git", _CREDENTIALS_SENTENCE),
    _url("password in an ssh URL", "ssh://git:pw@git.example.com/a.git", _CREDENTIALS_SENTENCE),
    _url("password with an @", "https://me:p@ss@git.example.com/a.git", _CREDENTIALS_SENTENCE),
    _url("file URL", "file:///srv/git/a.git", _URL_SENTENCE),
    _url("local path", "/srv/git/a.git", _URL_SENTENCE),
    _url("URL without a path", "https://git.example.com", _URL_SENTENCE),
    _url("host that reads as an option", "ssh://-oProxyCommand=x/a.git", _URL_SENTENCE),
    _url("URL with a blank", "https://git.example.com/a b.git", _URL_SENTENCE),
    _url("URL with a line end", "https://git.example.com/a.git\n", _URL_SENTENCE),
    _url("URL with a query", "https://git.example.com/a.git?token=x", _URL_SENTENCE),
    _branch("branch with a blank", "my branch"),
    _branch("branch with two dots", "a..b"),
    _branch("branch with a leading hyphen", "-b"),
    _branch("branch with refs/heads", "refs/heads/a"),
    _branch("branch with .lock", "a.lock/b"),
    _branch("branch with a trailing slash", "a/"),
    _branch("branch with a line end", "a\n"),
    _branch("branch with a hidden part", "a/.b"),
    _branch("branch HEAD", "HEAD"),
    of_package(
        "bad base", {"spec.repository.baseRef": "a~1"}, "spec.repository.baseRef", _REF_SENTENCE
    ),
    of_package(
        "branch that is the base",
        {"spec.repository.branch": "main"},
        "spec.repository.branch",
        "branch must differ from baseRef",
    ),
    of_package("no repository", {"spec.repository": ABSENT}, "spec.repository: Required"),
    of_package("no URL", {"spec.repository": {"baseRef": "main"}}, "spec.repository.url: Required"),
    of_package("no class", {"spec.agentClassName": ABSENT}, "spec.agentClassName: Required"),
    of_package("class with capitals", {"spec.agentClassName": "Claude"}, "spec.agentClassName"),
    of_package("bad queue name", {"spec.queueName": "My Queue"}, "spec.queueName"),
    of_package(
        "bad Secret name", {"spec.repository.secretName": "a_b"}, "spec.repository.secretName"
    ),
    of_package(
        "author with a line end",
        {"spec.repository.author": {"name": "Ada\ncommitter X", "email": "a@example.com"}},
        "spec.repository.author.name",
        "must be a name that git keeps unchanged",
    ),
    of_package(
        "author whose address ends early",
        {"spec.repository.author": {"name": "Ada", "email": "a@b> 0 +0000"}},
        "spec.repository.author.email",
        "must be an e-mail address",
    ),
    of_package(
        "signing without a Secret",
        {"spec.repository.signing": {}},
        "spec.repository.signing.secretName: Required",
    ),
    of_package(
        "image with a blank", {"spec.image": "a b"}, "spec.image", "must be an image reference"
    ),
    of_package("no spec", {"spec": ABSENT}, "spec: Required"),
    of_package(
        "name of 41 characters",
        {"metadata.name": "n" * 41},
        "metadata.name",
        "at most 40 characters",
    ),
    of_package("name with a dot", {"metadata.name": "a.b"}, "metadata.name", "and no '.'"),
)

import pytest

from afresh.core.repository_url import normalized_url

REPOSITORY = "git.example.com/team/api"


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("https://git.example.com/team/api", id="the plain address"),
        pytest.param("https://git.example.com/team/api.git", id="with .git"),
        pytest.param("https://git.example.com/team/api.git/", id="with .git and a slash"),
        pytest.param("https://git.example.com/team/api///", id="with slashes at its end"),
        pytest.param("https://git.example.com/team/api/.git", id="its git directory"),
        pytest.param("https://GIT.Example.COM/team/api", id="the host in another case"),
        pytest.param("https://git.example.com./team/api", id="the host with a dot at its end"),
        pytest.param("https://git.example.com:443/team/api", id="the port of https"),
        pytest.param("https://git.example.com:0443/team/api", id="the port with a zero"),
        pytest.param("https://git.example.com:/team/api", id="an empty port"),
        pytest.param("http://git.example.com:80/team/api", id="http and its port"),
        pytest.param("ssh://git.example.com/team/api", id="by SSH"),
        pytest.param("ssh://git@git.example.com:22/team/api.git", id="by SSH, with user and port"),
        pytest.param("git@git.example.com:team/api.git", id="in scp's form"),
        pytest.param("other@Git.example.com:/team/api", id="in scp's form from the root"),
        pytest.param("git@git.example.com://team//api/", id="in scp's form with more slashes"),
        pytest.param("https://git.example.com//team/./x/../api", id="with folders that cancel"),
        pytest.param("https://git.example.com/te%61m/api%2egit", id="with escapes without need"),
        pytest.param("HTTPS://git.example.com/team/api", id="the scheme in another case"),
    ],
)
def test_one_repository_has_one_address(url: str) -> None:
    assert normalized_url(url) == REPOSITORY


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("https://git.example.org/team/api", id="another host"),
        pytest.param("https://git.example.com:8443/team/api", id="another port"),
        pytest.param("https://git.example.com:22/team/api", id="another scheme's port"),
        pytest.param("ssh://git@git.example.com:443/team/api", id="SSH at the port of https"),
        pytest.param("https://git.example.com/team/API", id="another case"),
        pytest.param("https://git.example.com/team/api2", id="another name"),
        pytest.param("https://git.example.com/api", id="another folder"),
        pytest.param("https://git.example.com/team/api.git.git", id="a name that ends in .git"),
        pytest.param("https://git.example.com/team%2Fapi", id="an escaped slash"),
        pytest.param("git@git.example.com:8443/team/api", id="scp's form, which has no port"),
    ],
)
def test_another_repository_has_another_address(url: str) -> None:
    assert normalized_url(url) != REPOSITORY


def test_an_address_that_is_normal_stays_so_whatever_its_scheme() -> None:
    for url in ("https://h:8443/a/b.git", "git@[::1]:a/b", "ssh://[0:0::1]:2222/~me/b%20c/"):
        normal = normalized_url(url)
        assert normalized_url(f"ssh://{normal}") == normal


def test_every_way_to_write_an_ipv6_address_is_one() -> None:
    assert normalized_url("https://[0:0:0:0:0:0:0:1]/a") == normalized_url("git@[::1]:a.git")


def test_a_text_that_is_no_address_stays_as_it_is() -> None:
    assert normalized_url("nothing") == "nothing"

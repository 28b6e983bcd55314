"""The NetworkPolicies of episodes: what they let out, and that they look as they are stored."""

from ipaddress import ip_address, ip_network
from typing import Any

import pytest

from afresh.manifests.network_policy import (
    ReportPeer,
    build_class_policy,
    build_namespace_policy,
    is_as_built,
)
from tests.make import make_class
from tests.manifests.test_job import make_job

REPORTS = ReportPeer(namespace="afresh-system", port=8080)


def public_rule() -> dict[str, Any]:
    (rule,) = [
        rule
        for rule in build_namespace_policy("team-a", REPORTS)["spec"]["egress"]
        if "0.0.0.0/0" in [peer.get("ipBlock", {}).get("cidr") for peer in rule["to"]]
    ]
    return rule


def lets_out(rule: dict[str, Any], text: str) -> bool:
    address = ip_address(text)
    for block in [peer["ipBlock"] for peer in rule["to"]]:
        ranges = [ip_network(one) for one in (block["cidr"], *block["except"])]
        if address in ranges[0]:
            return not any(address in one for one in ranges[1:])
    return False


@pytest.mark.parametrize("address", ["8.8.8.8", "140.82.121.3", "2606:4700::1111", "172.32.0.1"])
def test_public_addresses_are_let_out(address: str) -> None:
    assert lets_out(public_rule(), address)


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("10.96.0.1", id="RFC 1918, such as the API server's Service"),
        pytest.param("172.16.0.1", id="RFC 1918, the middle range"),
        pytest.param("192.168.1.1", id="RFC 1918, the last range"),
        pytest.param("100.64.0.1", id="shared address space"),
        pytest.param("169.254.169.254", id="a cloud's metadata"),
        pytest.param("127.0.0.1", id="the node itself"),
        pytest.param("fd00:ec2::254", id="a cloud's metadata over IPv6"),
        pytest.param("fe80::1", id="the link"),
        pytest.param("64:ff9b::10.0.0.1", id="a private address behind NAT64"),
        pytest.param("64:ff9b::169.254.169.254", id="a cloud's metadata behind NAT64"),
    ],
)
def test_private_addresses_are_not_let_out(address: str) -> None:
    assert not lets_out(public_rule(), address)


def test_public_addresses_are_reached_on_the_ports_of_https_and_ssh_alone() -> None:
    assert public_rule()["ports"] == [
        {"protocol": "TCP", "port": 443},
        {"protocol": "TCP", "port": 22},
    ]


def test_nothing_comes_in_and_every_episode_of_the_namespace_is_meant() -> None:
    policy = build_namespace_policy("team-a", REPORTS)

    assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert "ingress" not in policy["spec"]
    selected = policy["spec"]["podSelector"]["matchLabels"].items()
    assert selected <= make_job()["spec"]["template"]["metadata"]["labels"].items()


def test_reports_go_to_the_operators_pod_and_nowhere_where_it_is_no_pod() -> None:
    with_operator, without = (
        build_namespace_policy("team-a", peer)["spec"]["egress"] for peer in (REPORTS, None)
    )

    (rule,) = [rule for rule in with_operator if rule not in without]
    assert rule["ports"] == [{"protocol": "TCP", "port": 8080}]
    (peer,) = rule["to"]
    assert peer["namespaceSelector"]["matchLabels"] == {
        "kubernetes.io/metadata.name": "afresh-system"
    }


def test_a_class_lets_out_its_egress_for_its_own_pods_alone() -> None:
    rule = {"to": [{"namespaceSelector": {}}], "ports": [{"port": 80}]}
    spec = build_class_policy("team-a", make_class(egress=[rule]))["spec"]

    assert spec["egress"] == [
        {"to": [{"namespaceSelector": {}}], "ports": [{"protocol": "TCP", "port": 80}]}
    ]
    assert spec["podSelector"]["matchLabels"].items() <= (
        make_job()["spec"]["template"]["metadata"]["labels"].items()
    )
    assert "afresh.dev/agent-class" in spec["podSelector"]["matchLabels"]


def test_a_policy_that_somebody_opened_is_not_as_built() -> None:
    built = build_namespace_policy("team-a", REPORTS)
    opened = {**built, "spec": {**built["spec"], "ingress": [{}]}}

    assert is_as_built(built, built)
    assert not is_as_built(opened, built)

"""[wifi]: what each node's node.json says of it, and that no password gets into the file or out of a message."""

import ipaddress

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dcka.config import from_mapping, node_wifi, parse
from dcka.errors import UsageError

FIXED = '[network]\nnodes = [12, 3, 7]\n[topology]\nkind = "line"\n[wifi]\nssid = "green house"\n'


def refusal(text):
    with pytest.raises(UsageError) as caught:
        parse(text)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_with_dhcp_a_node_knows_the_name_alone():
    config = parse(FIXED)
    assert node_wifi(config, 3) == {"ssid": "green house"}
    assert config.wifi.awake_cap_s == 0


def test_addresses_go_to_the_ids_in_their_order():
    config = parse(FIXED + 'first_address = "192.168.1.101/24"\nawake_cap_s = 300\n')
    expected = {3: "192.168.1.101", 7: "192.168.1.102", 12: "192.168.1.103"}
    for node, address in expected.items():
        assert node_wifi(config, node) == {
            "ssid": "green house",
            "address": address,
            "netmask": "255.255.255.0",
            "gateway": "192.168.1.1",
            "dns": "192.168.1.1",
            "awake_cap_s": 300,
        }


def test_gateway_and_name_server_may_be_others():
    said = node_wifi(
        parse(FIXED + 'first_address = "10.1.2.3/20"\ngateway = "10.1.15.254"\ndns = "9.9.9.9"'), 12
    )
    assert (said["address"], said["netmask"]) == ("10.1.2.5", "255.255.240.0")
    assert (said["gateway"], said["dns"]) == ("10.1.15.254", "9.9.9.9")


def test_without_a_name_no_node_can_be_told_where_to_join():
    with pytest.raises(UsageError, match=r'^network.toml has no Wi-Fi: write ssid = "NAME" under \[wifi\]$'):
        node_wifi(parse(""), 1)
    with pytest.raises(UsageError, match="no node 4"):
        node_wifi(parse(FIXED), 4)


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('first_address = "192.168.1.253/24"', ["3 nodes", "192.168.1.253", "192.168.1.254", "earlier"]),
        ('first_address = "192.168.1.1/24"', ["192.168.1.1,", "unless gateway names another"]),
        ('first_address = "10.0.0.4/24"\ngateway = "10.0.0.6"', ["10.0.0.6, which is the router's"]),
        (
            'first_address = "10.0.0.4/24"\ngateway = "10.0.1.1"',
            ["gateway", "10.0.1.1 is not in 10.0.0.0/24"],
        ),
        ('gateway = "10.0.0.1"', ["gateway is there without first_address", "remove it"]),
        ('dns = "10.0.0.1"', ["dns is there without first_address", "remove it"]),
    ],
)
def test_addresses_that_cannot_work_are_refused(lines, words):
    message = refusal(FIXED + lines)
    assert message.startswith("network.toml, line")
    for word in words:
        assert word in message


@pytest.mark.parametrize(
    ("text", "variable"),
    [
        ('[wifi]\nssid = "a"\npassword = "s3cret"', "DCKA_WIFI_PASSWORD"),
        ('[network]\npassword = "s3cret"', "DCKA_BROKER_PASSWORD"),
        ('password = "s3cret"', "DCKA_WIFI_PASSWORD or DCKA_BROKER_PASSWORD"),
        ('[wifi]\npasword = "s3cret"', "its keys are ssid"),
        ('[wifi]\npsk = "s3cret"', "its keys are ssid"),
    ],
)
def test_a_password_in_the_file_is_refused_told_where_it_goes_and_not_repeated(text, variable):
    message = refusal(text)
    assert variable in message
    assert "s3cret" not in message


@settings(deadline=None, derandomize=True)
@given(st.integers(0, 2**32 - 1).map(ipaddress.IPv4Address), st.integers(8, 30), st.integers(1, 60))
def test_what_is_taken_gives_each_node_an_address_of_its_own_on_the_network_and_not_the_routers(
    first, prefix, nodes
):
    values = {
        "network": {"nodes": nodes},
        "topology": {"kind": "line"},
        "wifi": {"ssid": "a", "first_address": f"{first}/{prefix}"},
    }
    try:
        config = from_mapping(values)
    except UsageError:
        assume(False)
    said = [node_wifi(config, node) for node in config.ids]
    network = ipaddress.ip_network(f"{first}/{prefix}", strict=False)
    addresses = [ipaddress.ip_address(one["address"]) for one in said]
    assert len(set(addresses)) == nodes
    assert set(addresses) <= set(network.hosts() if prefix > 20 else addresses)
    assert all(address in network for address in addresses)
    assert ipaddress.ip_address(said[0]["gateway"]) not in addresses
    assert {one["netmask"] for one in said} == {str(network.netmask)}

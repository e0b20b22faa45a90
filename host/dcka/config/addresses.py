"""The checks of [wifi], and what node.json says of it."""

import ipaddress
from typing import TYPE_CHECKING

from dcka.config.checks import Check, Unfit, shown
from dcka.errors import UsageError

if TYPE_CHECKING:
    from dcka.config.read import Config
    from dcka.config.sections import WifiSection
    from dcka.config.source import Source

# What 802.11 has room for.
_SSID_BYTES = 32


def ssid() -> Check:
    """A network's name, as a string."""

    def convert(value: object) -> str:
        if not isinstance(value, str) or not value or not value.isprintable():
            raise Unfit
        if len(value.encode()) > _SSID_BYTES:
            raise Unfit(
                f"{shown(value)} has {len(value.encode())} bytes; a Wi-Fi's name has at most {_SSID_BYTES}"
            )
        return value

    return Check(f"the name of a Wi-Fi, 1 to {_SSID_BYTES} bytes", convert)


def address() -> Check:
    """An IPv4 address, as a string."""

    def convert(value: object) -> str:
        try:
            return str(ipaddress.IPv4Address(value if isinstance(value, str) else ""))
        except ValueError:
            raise Unfit from None

    return Check('an IPv4 address such as "192.168.1.1"', convert)


def first_address() -> Check:
    """An IPv4 address with the length of its network's prefix, as a string."""
    allowed = 'an IPv4 address with its network, such as "192.168.1.101/24"'

    def convert(value: object) -> str:
        if not isinstance(value, str):
            raise Unfit
        if "/" not in value:
            raise Unfit(f"{shown(value)} says nothing of its network; it must be {allowed}")
        try:
            interface = ipaddress.IPv4Interface(value)
        except ValueError:
            raise Unfit from None
        if not 8 <= interface.network.prefixlen <= 30 or not _usable(interface, 0):
            raise Unfit(f"{shown(value)} leaves no room for nodes; it must be {allowed}")
        return interface.with_prefixlen

    return Check(allowed, convert)


def require_addresses(wifi: "WifiSection", nodes: int, source: "Source") -> None:
    """That there is an address for each of so many nodes, and a router that they reach. Raises UsageError."""
    if wifi.first_address is None:
        for name in ("gateway", "dns"):
            if getattr(wifi, name) is not None:
                raise UsageError(
                    f"{source.at('wifi', name)} is there without first_address; DHCP says it: remove it"
                )
        return
    first = ipaddress.IPv4Interface(wifi.first_address)
    stated = source.stated("wifi", "first_address", wifi.first_address)
    if not _usable(first, nodes - 1):
        last = first.network.broadcast_address - 1
        raise UsageError(f"{stated}: {nodes} nodes do not fit between it and {last}; take an earlier one")
    router = _router(wifi, first)
    if router not in first.network:
        raise UsageError(
            f"{source.at('wifi', 'gateway')}: {router} is not in {first.network}, where the nodes are"
        )
    if first.ip <= router < first.ip + nodes:
        what = "the router's, unless gateway names another" if wifi.gateway is None else "the router's"
        raise UsageError(f"{stated}: with {nodes} nodes one of them would have {router}, which is {what}")


def node_wifi(config: "Config", node: int) -> dict[str, object]:
    """The `wifi` of node.json for a node, but for the password. The k-th id has the k-th address.

    Raises UsageError where the file has no ssid, and for a node that is none.
    """
    wifi = config.wifi
    if wifi.ssid is None:
        raise UsageError(f'{config.source.name} has no Wi-Fi: write ssid = "NAME" under [wifi]')
    if node not in config.ids:
        raise UsageError(f"there is no node {node} in {config.source.name}")
    said: dict[str, object] = {"ssid": wifi.ssid}
    if wifi.first_address is not None:
        first = ipaddress.IPv4Interface(wifi.first_address)
        router = _router(wifi, first)
        said["address"] = str(first.ip + config.ids.index(node))
        said["netmask"] = str(first.netmask)
        said["gateway"] = str(router)
        said["dns"] = wifi.dns or str(router)
    if wifi.awake_cap_s:
        said["awake_cap_s"] = wifi.awake_cap_s
    return said


def _router(wifi: "WifiSection", first: ipaddress.IPv4Interface) -> ipaddress.IPv4Address:
    return ipaddress.IPv4Address(wifi.gateway) if wifi.gateway else first.network.network_address + 1


def _usable(first: ipaddress.IPv4Interface, further: int) -> bool:
    """Whether the address and so many after it are a host's."""
    network = first.network
    return network.network_address < first.ip and first.ip + further < network.broadcast_address

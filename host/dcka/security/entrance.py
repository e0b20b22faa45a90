"""`dcka broker check`: who is let in at all. A refusal counts as one only where it comes for its own reason."""

import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from dcka.broker import BrokerUnavailable, BrokerUrl, NameUnknown, NotAllowed, NotListening, NotTrusted, probe
from dcka.broker.access import Rights
from dcka.security.authority import new_authority, write_certificate
from dcka.security.check import ALLOWED, REFUSED, Row, word
from dcka.security.talkers import Talker, stays_up

PROBE_S = 5.0
# A broker that hands a session over does it at the CONNECT of the second.
_TAKEN_S = 0.3
_CONNECT = "connect"


def entrance_rows(
    host: BrokerUrl, monitor: BrokerUrl, network: str, rights: Sequence[Rights], addresses: Iterable[str]
) -> list[Row]:
    """Who gets in and who does not, at the doors of the broker; `addresses`: others by which it is called."""
    nodes = [one for one in rights if one.node is not None]
    rows = [_let_in("host", host), _let_in("monitor", monitor)]
    rows += [_let_in(one.user, host.as_node(one.node)) for one in nodes]
    rows += [_let_in("host", replace(host, host=address)) for address in addresses if address != host.host]
    doors = [host] if host.node_port in (None, host.port) else [host, replace(host, port=host.node_port or 0)]
    for door in doors:
        bare = replace(door, username=None, password=None)
        rows.append(_kept_out("anonymous", bare, NotAllowed))
        rows.append(_kept_out("without encryption", replace(bare, tls=False, ca=None), BrokerUnavailable))
        rows.append(_foreign_authority(door))
        rows.append(_kept_out("host with a wrong password", replace(door, password="wrong"), NotAllowed))
    rows += _other_doors(host, nodes, len(doors) > 1)
    if len(nodes) > 1:
        one, two = host.as_node(nodes[0].node), host.as_node(nodes[1].node)
        mixed = replace(one, username=two.username)
        rows.append(_kept_out(f"{nodes[1].user} with the password of {nodes[0].user}", mixed, NotAllowed))
        if len(doors) > 1:
            rows.append(_session(one, two, nodes[0], nodes[1], network))
    return rows


def _let_in(who: str, url: BrokerUrl) -> Row:
    try:
        probe(url, PROBE_S)
    except BrokerUnavailable as error:
        return Row(who, _CONNECT, _where(url), ALLOWED, REFUSED, str(error))
    return Row(who, _CONNECT, _where(url), ALLOWED, ALLOWED)


def _kept_out(who: str, url: BrokerUrl, reason: type[BrokerUnavailable]) -> Row:
    try:
        probe(url, PROBE_S)
    except (NotListening, NameUnknown) as error:
        return Row(who, _CONNECT, _where(url), REFUSED, "not reached", str(error))
    except reason as error:
        return Row(who, _CONNECT, _where(url), REFUSED, REFUSED, str(error))
    except BrokerUnavailable as error:
        return Row(who, _CONNECT, _where(url), REFUSED, "refused for another reason", str(error))
    return Row(who, _CONNECT, _where(url), REFUSED, ALLOWED)


def _foreign_authority(door: BrokerUrl) -> Row:
    """Whoever trusts another authority must not take this broker for theirs."""
    with tempfile.TemporaryDirectory(prefix="dcka-") as folder:
        file = Path(folder) / "ca.pem"
        write_certificate(file, new_authority("another", datetime.now(UTC)).certificate)
        return _kept_out("with another authority", replace(door, ca=file), NotTrusted)


def _other_doors(host: BrokerUrl, nodes: Sequence[Rights], two: bool) -> list[Row]:
    """Each has one door where there are two."""
    if not two:
        return []
    rows = [_kept_out("host at the nodes' door", replace(host, port=host.node_port or 0), NotAllowed)]
    if nodes:
        node = replace(host.as_node(nodes[0].node), port=host.port)
        rows.append(_kept_out(f"{nodes[0].user} at the host's door", node, NotAllowed))
    return rows


def _session(one: BrokerUrl, two: BrokerUrl, first: Rights, second: Rights, network: str) -> Row:
    """Whether a node that connects under another's client id ends the other's session."""
    name = f"dcka-{network}-{second.node}"  # as its firmware calls itself
    victim = Talker(two, second, network, name)
    thieves = [Talker(one, first, network, id_) for id_ in (second.user, name)]
    victim.open()
    try:
        for thief in thieves:
            thief.open()
            thief.close()
        taken = not stays_up(victim, _TAKEN_S)
    finally:
        victim.close()
    return Row(first.user, f"take the session of {second.user}", "", REFUSED, word(taken))


def _where(url: BrokerUrl) -> str:
    return str(replace(url, username=None))

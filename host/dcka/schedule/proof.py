"""The proof of a timetable: it is executed with sets in place of sums, and knows nothing of how it was designed.

Each node begins with the multiset {itself}. A message carries a multiset as a sum carries readings, and what is
heard is added as a sum is added, so a node that is counted twice shows as 2. At the end everyone has to hold
everyone exactly once.
"""

from collections import Counter
from collections.abc import Mapping

from dcka.schedule.errors import ScheduleError
from dcka.schedule.timetable import Access, Send, Timetable, What
from dcka.topology.graph import named_ids

Bag = Counter[int]


def prove(timetable: Timetable) -> None:
    """Raises ScheduleError, with the first slot or node that is at fault, unless

    - in each slot only those send together that `access` lets, each of them once, to nodes within reach;
    - a result is sent by who decides it, or by who has heard one;
    - at the end every node holds every node's sums exactly once.
    """
    known = frozenset(timetable.ids)
    gathered: dict[int, Bag] = {node: Counter() for node in timetable.ids}
    results: dict[int, Bag] = {}
    for number, slot in enumerate(timetable.slots):
        require_access(timetable, number, slot, known)
        sent = [_carried(send, gathered, results, number, timetable.deciders) for send in slot]
        for send, bag in zip(slot, sent, strict=True):
            for hearer in send.hearers:
                if send.what is What.RESULT:
                    results[hearer] = bag
                else:
                    gathered[hearer] = gathered[hearer] + bag
    for node in timetable.ids:
        _require_everyone(node, results.get(node, _whole(node, gathered)), timetable.ids)


def require_access(timetable: Timetable, number: int, slot: tuple[Send, ...], known: frozenset[int]) -> None:
    """Raises ScheduleError where the broadcasts of slot `number` cannot all be sent and heard."""
    senders: set[int] = set()
    heard: Counter[int] = Counter()
    for send in slot:
        where = f"slot {number}: node {send.sender}"
        for node in (send.sender, *send.hearers):
            if node not in known:
                raise ScheduleError(
                    f"{where}: there is no node {node}; the nodes are {named_ids(timetable.ids)}"
                )
        if send.sender in senders and send.what is not What.SHARE:
            raise ScheduleError(f"{where} sends twice")
        if not send.hearers:
            raise ScheduleError(f"{where} sends, and nobody is there to hear it")
        for hearer in send.hearers:
            if hearer == send.sender:
                raise ScheduleError(f"{where} sends to itself")
            if timetable.near is not None and hearer not in timetable.near[send.sender]:
                raise ScheduleError(f"{where} sends to node {hearer}, which is out of its reach")
        senders.add(send.sender)
        heard.update(send.hearers)
    _require_apart(timetable, number, sorted(senders), heard)


def _require_apart(timetable: Timetable, number: int, senders: list[int], heard: Mapping[int, int]) -> None:
    access = timetable.access
    if access is Access.ONE and len(senders) > 1:
        raise ScheduleError(f"slot {number}: nodes {senders[0]} and {senders[1]} both send, and one may")
    if access is Access.PAIRS:
        for hearer, count in sorted(heard.items()):
            if count > 1:
                raise ScheduleError(
                    f"slot {number}: node {hearer} is to hear {count} nodes, and may hear one"
                )
    if access is Access.TWO_HOP and timetable.near is not None:
        reach = {node: set(timetable.near[node]) for node in senders}
        for place, one in enumerate(senders):
            for other in senders[:place]:
                if other in reach[one] or reach[one] & reach[other]:
                    raise ScheduleError(
                        f"slot {number}: nodes {other} and {one} both send, and are no more than two hops apart"
                    )


def _whole(node: int, gathered: Mapping[int, Bag]) -> Bag:
    return gathered[node] + Counter([node])


def _carried(
    send: Send, gathered: Mapping[int, Bag], results: Mapping[int, Bag], number: int, deciders: frozenset[int]
) -> Bag:
    if send.what is What.REST:
        return gathered[send.sender]
    if send.what is What.SUM:
        return _whole(send.sender, gathered)
    if send.what is What.SHARE:
        raise ScheduleError(f"slot {number}: node {send.sender} sends a share, and shares prove no sum")
    if send.sender in results:
        return results[send.sender]
    if send.sender in deciders:
        return _whole(send.sender, gathered)
    raise ScheduleError(f"slot {number}: node {send.sender} passes on a result that it has not heard yet")


def _require_everyone(node: int, held: Bag, ids: tuple[int, ...]) -> None:
    missing = [other for other in ids if not held[other]]
    twice = [other for other in ids if held[other] > 1]
    if missing:
        raise ScheduleError(f"node {node} ends without the sums of {named_ids(missing)}")
    if twice:
        raise ScheduleError(f"node {node} ends with the sums of {named_ids(twice)} more than once")

"""Connected graphs for hypothesis, and hops counted in another way than the program's."""

from hypothesis import strategies as st

from dcka.topology import Graph


@st.composite
def connected(draw, most=14, phases=1):
    """A random spanning tree over up to `most` nodes of any ids, with some more links, dealt to phases."""
    ids = draw(st.lists(st.integers(1, 300), min_size=1, max_size=most, unique=True))
    links = {
        (min(node, other), max(node, other))
        for place, node in enumerate(ids[1:], start=1)
        for other in [ids[draw(st.integers(0, place - 1))]]
    }
    if len(ids) > 1:
        pairs = st.tuples(st.sampled_from(ids), st.sampled_from(ids)).filter(lambda pair: pair[0] < pair[1])
        links |= set(draw(st.lists(pairs, max_size=2 * len(ids))))
    dealt = [[] for _ in range(draw(st.integers(1, phases)))]
    for link in sorted(links):
        dealt[draw(st.integers(0, len(dealt) - 1))].append(link)
    return Graph.build(ids, dealt)


def hops(graph):
    """{(a, b): hops}, by Floyd and Warshall."""
    far = len(graph.ids)
    links = {link for phase in graph.phases for link in phase}
    found = {
        (a, b): 0 if a == b else 1 if (min(a, b), max(a, b)) in links else far
        for a in graph.ids
        for b in graph.ids
    }
    for over in graph.ids:
        for a in graph.ids:
            for b in graph.ids:
                found[a, b] = min(found[a, b], found[a, over] + found[over, b])
    return found

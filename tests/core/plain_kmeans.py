"""K-means written out from the protocol's section 1 alone, to hold the core against: slow, and without any of its code.

Points and centres are tuples of whole numbers.
"""


def tuples(flat, n):
    """A flat list of numbers as points of n."""
    return [tuple(flat[start : start + n]) for start in range(0, len(flat), n)]


def flat(points):
    """Points as a flat list of numbers."""
    return [value for point in points for value in point]


def distance(point, centre):
    """Euclid's, squared."""
    return sum([(a - b) * (a - b) for a, b in zip(point, centre)])


def nearest(point, centres):
    """Index of the nearest centre, the lowest of those that tie."""
    distances = [distance(point, centre) for centre in centres]
    return distances.index(min(distances))


def half_up(total, count):
    """total / count, rounded half up."""
    whole, rest = divmod(total, count)
    return whole + (1 if 2 * rest >= count else 0)


def step(shares, previous):
    """One outer step: (centres, counts, ssd).

    shares: for each node (its points, its centres, or None where it has none and adds nothing). previous: what an empty
    cluster keeps.
    """
    k, n = len(previous), len(previous[0])
    sums = [[0] * n for _ in range(k)]
    counts = [0] * k
    ssd = 0
    for points, centres in shares:
        for point in points if centres else ():
            best = nearest(point, centres)
            counts[best] += 1
            ssd += distance(point, centres[best])
            for j in range(n):
                sums[best][j] += point[j]
    means = [
        tuple([half_up(total, counts[k]) for total in sums[k]]) if counts[k] else previous[k]
        for k in range(len(previous))
    ]
    return means, counts, ssd


def kmeans(node_points, starts, fallback, max_steps):
    """Every step as (centres, counts, ssd), to convergence or `max_steps`.

    node_points: for each node its points. starts: for each node its centres of step 0, or None. fallback: what a
    cluster that is empty everywhere in step 0 takes; None where all nodes have the same start, which it keeps.
    """
    steps = [step(list(zip(node_points, starts)), fallback or starts[0])]
    same = fallback is None
    while len(steps) < max_steps and not (same and steps[-1][0] == starts[0]):
        starts = [steps[-1][0]] * len(node_points)
        steps.append(step(list(zip(node_points, starts)), starts[0]))
        same = True
    return steps

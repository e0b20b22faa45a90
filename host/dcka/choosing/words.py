"""A choice of K for people: a table, and the sentences of its report."""

from dcka.choosing.choice import Choice
from dcka.choosing.rules import RULES, Point

NAMES = {
    "calinski_harabasz": "Calinski–Harabasz",
    "bic": "BIC",
    "silhouette": "silhouette",
    "gap": "gap",
}
"""The indices by what a Point calls them."""
RULE_OF = {"calinski_harabasz": "ch", "bic": "bic", "silhouette": "silhouette", "gap": "gap"}


def shown(value: float | None) -> str:
    """An index in a line or a table."""
    if value is None:
        return "–"
    return f"{value:,.1f}" if abs(value) >= 1000 else f"{value:.4g}"


def indices_of(choice: Choice) -> list[str]:
    """The indices that some K has."""
    return [key for key in NAMES if any(getattr(point, key) is not None for point in choice.curves)]


def line_of(point: Point) -> str:
    """What is known of one K."""
    known = [key for key in NAMES if getattr(point, key) is not None]
    return ", ".join(
        [
            f"K = {point.k}: SSD {point.ssd:.6g}",
            *(f"{NAMES[key]} {shown(getattr(point, key))}" for key in known),
        ]
    )


def picks(choice: Choice) -> dict[str, int]:
    """Which K each index speaks for, by its key."""
    found = {key: RULES[RULE_OF[key]].pick(choice.curves) for key in indices_of(choice)}
    return {key: k for key, k in found.items() if k is not None}


def rows_of(choice: Choice) -> list[list[str]]:
    """Head and rows of the table of curves; what an index speaks for has a star."""
    keys, spoken = indices_of(choice), picks(choice)
    rows = [["K", "SSD", *(NAMES[key] for key in keys)]]
    for point in choice.curves:
        cells = []
        for key in keys:
            error = f" ± {point.gap_se:.2g}" if key == "gap" and point.gap_se is not None else ""
            cells.append(f"{shown(getattr(point, key))}{error}{' *' if spoken.get(key) == point.k else ''}")
        rows.append([str(point.k), f"{point.ssd:.6g}", *cells])
    return rows


def table_of(choice: Choice) -> list[str]:
    """The curves as lines of text, the K that was taken marked."""
    rows = rows_of(choice)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    marks = ["  ", *("> " if point.k == choice.k else "  " for point in choice.curves)]
    lines = [
        mark + "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for mark, row in zip(marks, rows, strict=True)
    ]
    return [*lines, verdict(choice)]


def verdict(choice: Choice) -> str:
    """Which K, by what, and what the other indices say."""
    rule = RULES[choice.rule]
    parts = [f"K = {choice.k}: {rule.words} {rule.name} of K = {choice.low} to {choice.high}"]
    if choice.rule == "gap":
        parts = [f"K = {choice.k}: {rule.words}, by the {rule.name}"]
    others: dict[int, list[str]] = {}
    for key, k in picks(choice).items():
        if RULE_OF[key] != choice.rule and k != choice.k:
            others.setdefault(k, []).append(NAMES[key])
    parts += [f"{' and '.join(names)} would take {k}" for k, names in sorted(others.items())]
    if choice.k == choice.high:
        parts.append("it is the end of the range, and beyond it there may be a better one")
    return "; ".join(parts)

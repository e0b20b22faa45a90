"""Write the kernels for a fixed n: `firmware/dcka_core/kernel_viper_<n>.py` and `kernel_viper_sorted_<n>.py`.

A template a family (tools/kernels) has the rules; what depends on n is put in here, so that no loop over dimensions is
left. A test holds the files to what this writes: run it again after a change. docs/kernel.md tells how they work.
"""

import re
import sys
from collections.abc import Mapping
from pathlib import Path

TEMPLATES = Path(__file__).resolve().parent / "kernels"
FOLDER = Path(__file__).resolve().parent.parent / "firmware" / "dcka_core"
FLAT = (2, 3, 4, 5, 6, 7, 8, 16)
SORTED = (1, 2, 3)

# Up to this n a distance is made of products, above of differences that can end early: see `products`.
PRODUCTS_TO = 4
# Dimensions between two looks at whether a distance can still win.
EARLY = 4
HEADER_WORDS = 4
TABLE_WORDS = 32
# Rows on either side that are looked at for a centre's nearest other one.
NEAR_ROWS = 16


def products(n: int) -> bool:
    """Whether distances are |c|² − c·2x, to which |x|² is added at the end: less work, but no early end."""
    return n <= PRODUCTS_TO


def row_words(n: int) -> int:
    """Words of a row: index, a quarter of the squared separation, perhaps |c|², then the centre."""
    return n + (3 if products(n) else 2)


def flat_kernel(n: int) -> str:
    """The text of `kernel_viper_<n>.py`."""
    return _filled((TEMPLATES / "flat.txt").read_text(encoding="utf-8"), n)


def sorted_kernel(n: int) -> str:
    """The text of `kernel_viper_sorted_<n>.py`."""
    return _filled((TEMPLATES / "sorted.txt").read_text(encoding="utf-8"), n)


def files() -> dict[str, str]:
    """Every file's name and text."""
    made = {f"kernel_viper_{n}.py": flat_kernel(n) for n in FLAT}
    return made | {f"kernel_viper_sorted_{n}.py": sorted_kernel(n) for n in SORTED}


def _filled(template: str, n: int) -> str:
    """A line that is `$NAME` alone becomes a fragment's lines, at its depth; a `$NAME` within a line, a word."""
    fragments, words = _fragments(n), _words(n)
    lines: list[str] = []
    for line in template.splitlines():
        alone = re.fullmatch(r"( *)\$([A-Z_]+)", line)
        if alone and alone[2] in fragments:
            lines += [alone[1] + piece for piece in fragments[alone[2]]]
        else:
            lines.append(re.sub(r"\$([A-Z_]+)", lambda found: words[found[1]], line))
    return "\n".join(lines) + "\n"


def _words(n: int) -> Mapping[str, str]:
    return {
        "N": str(n),
        "ROW": str(n + 1),
        "POINT_BYTES": str(2 * n),
        "STRIDE": str(4 * row_words(n)),
        "NEAR": str(4 * row_words(n) * NEAR_ROWS),
        "HEAD": str(4 * HEADER_WORDS),
        "HEADER": str(HEADER_WORDS),
        "TABLE": str(TABLE_WORDS),
        "ROWS": str(4 * (HEADER_WORDS + TABLE_WORDS)),
        "THIRD": "best" if products(n) else "e",
        "PLUS_SQUARE": " + square" if products(n) else "",
        "PRODUCT": _product(n),
    }


def _fragments(n: int) -> Mapping[str, list[str]]:
    base = row_words(n) - n
    short = products(n)
    to_point = [f"row[{base + j}] - x{j}" for j in range(n)]
    to_other = [f"other[{base + j}] - row[{base + j}]" for j in range(n)]
    square = "square = " + " + ".join(f"x{j} * x{j}" for j in range(n))
    doubled = [f"twice{j} = x{j} + x{j}" for j in range(n)] if short else []
    return {
        "FILL": _fill(n),
        "BETWEEN": _sum_of_squares("d", to_other),
        "APART": [f"d = {to_other[0]}", "d *= d"],
        "FARTHER": _sum_of_squares("d", to_other)[2:],
        "LOAD": [f"x{j} = int(here[{j}])" for j in range(n)],
        "DOUBLE": doubled,
        "SQUARE": [square] if short else [],
        "BEST": [f"best = {_product(n)}"] if short else _sum_of_squares("best", to_point),
        "SCAN": _scan(n, to_point),
        "REST": _sum_of_squares("d", to_point)[2:],
        "WHOLE": _sum_of_squares("best", to_point),
        "ADD": [f"sums[d + {j + 1}] += x{j}" for j in range(n)],
        "LESS_SQUARE": ["best -= square"] if short else [],
        "UNSQUARE": ["best += square"] if short else [],
    }


def _product(n: int) -> str:
    return "row[2] - " + " - ".join(f"row[{3 + j}] * twice{j}" for j in range(n))


def _sum_of_squares(target: str, differences: list[str]) -> list[str]:
    """Two lines a dimension. Viper has no square: the difference has to be a local of its own."""
    lines: list[str] = []
    for j, difference in enumerate(differences):
        lines += [f"e = {difference}", f"{target} {'+=' if j else '='} e * e"]
    return lines


def _fill(n: int) -> list[str]:
    if not products(n):
        return [f"row[{2 + j}] = int(centre[{j}])" for j in range(n)]
    lines: list[str] = []
    for j in range(n):
        lines += [f"e = int(centre[{j}])", f"row[{3 + j}] = e", f"d {'+=' if j else '='} e * e"]
    return [*lines, "row[2] = d"]


def _scan(n: int, to_point: list[str]) -> list[str]:
    """One row against the best so far, every EARLY dimensions; a centre that is near enough ends the loop."""
    if products(n):
        lines, depth, square = [f"d = {_product(n)}"], 0, " + square"
    else:
        squares = _sum_of_squares("d", to_point)
        lines, depth, square = squares[: 2 * EARLY], 0, ""
        for start in range(EARLY, n, EARLY):
            lines.append("    " * depth + "if d < best:")
            depth += 1
            lines += ["    " * depth + line for line in squares[2 * start : 2 * (start + EARLY)]]
    found = [
        "if d < best:",
        "    best = d",
        "    nearest = row[0]",
        f"    if d{square} < row[1]:",
        "        break",
    ]
    return lines + ["    " * depth + line for line in found]


def main() -> int:
    """Write what has changed; the names of these files are printed."""
    for name, text in files().items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
            print(path.relative_to(FOLDER.parent.parent))
    return 0


if __name__ == "__main__":
    sys.exit(main())

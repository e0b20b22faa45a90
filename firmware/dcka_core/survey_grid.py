"""What a survey's commit says, the grid that follows, and readings on it (protocol, section 5, "Survey").

Whole numbers throughout, so that the nodes and the host have the same grid, bit for bit.
"""

from hashlib import sha256

from dcka_core.survey_state import SIGMA_ROW, ends, numbers

TYPE_CHECKING = False
if TYPE_CHECKING:
    from array import array

    from dcka_core.record import Run

_MOST_TOLD = 16


class SurveyGrid:
    """One grid for all nodes: level q of dimension j stands for the reading low_j + width_j · q / (2^bits − 1).

    low, width (at least 1), extents: n integers each. clipped: of each dimension, the readings that `quantise` has
    brought to an end of the grid so far.
    """

    def __init__(self, bits: int, low: "list[int]", width: "list[int]", ranges: "list[int]") -> None:
        self.bits = bits
        self.low = low
        self.width = width
        self._levels = levels = (1 << bits) - 1
        self.extents = [
            min(levels, (2 * ranges[j] * levels + width[j]) // (2 * width[j])) for j in range(len(low))
        ]
        self.clipped = [0] * len(low)

    def dataset(self, readings: bytes) -> bytes:
        """The id of the points that the readings of this id become."""
        digest = sha256(readings + bytes([self.bits]))
        for j in range(len(self.low)):
            digest.update((self.low[j] & 0xFFFFFFFF).to_bytes(4, "little"))
            digest.update(self.width[j].to_bytes(8, "little"))
        whole: bytes = digest.digest()
        return whole[:8]

    def quantise(self, block: "array[int]", first: int, count: int, out: "array[int]") -> None:
        """Put the levels of `count` readings of a block, from the `first` on, into `out`, array('H')."""
        n = len(self.low)
        levels = self._levels
        start = first * n
        for j in range(n):
            low = self.low[j]
            width = self.width[j]
            clipped = 0
            for place in range(j, count * n, n):
                level = (2 * levels * (block[start + place] - low) + width) // (2 * width)
                if level < 0:
                    level = 0
                    clipped += 1
                elif level > levels:
                    level = levels
                    clipped += 1
                out[place] = level
            self.clipped[j] += clipped

    def told(self) -> "list[int]":
        """What a status, which has to fit a small message, says of the clipped: beyond 16 dimensions their total."""
        return self.clipped if len(self.clipped) <= _MOST_TOLD else [sum(self.clipped)]


def grid_of(run: "Run", centres: "list[int]") -> SurveyGrid:
    """The grid that the final commit of this survey leads to."""
    n = run.n
    found = ends(centres, n)
    low = found[:n]
    ranges = [found[n + j] - low[j] for j in range(n)]
    if run.scale == "one":
        width = [max(ranges)] * n
    elif run.scale == "std":
        width = _in_deviations(ranges, numbers(centres, n, SIGMA_ROW))
    else:
        width = ranges
    return SurveyGrid(run.grid_bits, low, [max(1, one) for one in width], ranges)


def _in_deviations(ranges: "list[int]", sigmas: "list[int]") -> "list[int]":
    """Widths of which each is the same number of its dimension's deviations, none below its range."""
    least = min([sigma for sigma in sigmas if sigma], default=0)
    return [
        (ranges[j] * sigmas[j] + least - 1) // least if sigmas[j] else ranges[j] for j in range(len(ranges))
    ]

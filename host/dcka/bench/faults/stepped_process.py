"""The process of nodes under CPython whose wall clock can be set: `python -m …stepped_process`, for `clock_faults`."""

import os
import sys
import threading
import time
from pathlib import Path

from dcka.emulation.cpython_process import main

_LOOK_S = 0.05


def _step(file: Path) -> None:
    """Set `time.time` and `time.time_ns` by what the file says, again and again."""
    real, real_ns = time.time, time.time_ns
    offset = [0.0]
    # What programs call is looked up in the module at each call.
    time.time = lambda: real() + offset[0]
    time.time_ns = lambda: real_ns() + int(offset[0] * 1e9)
    seen = Path(f"{file}.seen")

    def look() -> None:
        while True:
            try:
                wanted = float(file.read_text() or "0")
            except (OSError, ValueError):
                wanted = offset[0]
            if wanted != offset[0]:
                offset[0] = wanted
                with seen.open("a") as log:
                    log.write(f"{wanted}\n")
            time.sleep(_LOOK_S)

    threading.Thread(target=look, daemon=True).start()


if __name__ == "__main__":
    _step(Path(os.environ["DCKA_BENCH_CLOCK"]))
    sys.exit(main())

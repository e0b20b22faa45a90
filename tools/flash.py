"""`python tools/flash.py VERB …` is `dcka board VERB …`, and needs nothing but a Python: it sets up what is missing.

From a fresh clone the first call makes `.venv` (as `make setup` does) and goes on with its Python.
"""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"


def main() -> int:
    """Run the command line with this Python where dcka is installed, else with that of `.venv`."""
    if find_spec("dcka") is not None:
        from dcka.cli import main as dcka

        return dcka(["board", *sys.argv[1:]])
    if Path(sys.prefix) == VENV:
        print("flash.py: .venv has no dcka: remove .venv, and call again", file=sys.stderr)
        return 1
    # Its words go to stderr: stdout belongs to the verb's result.
    done = subprocess.run(["sh", str(ROOT / "tools" / "setup.sh")], stdout=sys.stderr, check=False)
    if done.returncode != 0:
        return done.returncode
    python = VENV / "bin" / "python"
    os.execv(python, [str(python), str(Path(__file__).resolve()), *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())

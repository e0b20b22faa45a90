"""Compare files with pinned hashes: `verify_sha256.py LIST`, in the folder that the list's paths start from.

The list has the form that sha256sum writes. Each file that is missing, or is another one, gets a line on
stderr; the exit code is 1 if there is any, or if the list is empty.
"""

import hashlib
import sys
from pathlib import Path


def differences(lines: list[str], folder: Path) -> list[str]:
    """One sentence for each file of `lines` ("hash  path") that is not in `folder` with that content."""
    found = []
    for line in lines:
        pinned, path = line.split(maxsplit=1)
        file = folder / path
        if not file.is_file():
            found.append(f"{path} is missing")
            continue
        actual = hashlib.sha256(file.read_bytes()).hexdigest()
        if actual != pinned:
            found.append(f"{path} has SHA-256 {actual}, pinned is {pinned}: do not use it")
    return found


def main() -> int:
    """Read the list that the first argument names, check it against the current folder."""
    lines = [line for line in Path(sys.argv[1]).read_text("utf-8").splitlines() if line and line[0] != "#"]
    found = differences(lines, Path.cwd())
    for sentence in found:
        print(sentence, file=sys.stderr)
    return 1 if found or not lines else 0


if __name__ == "__main__":
    sys.exit(main())

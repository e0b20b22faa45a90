"""Small versions for boards, whose main.py says whether all that it starts is of one version; and how to watch one."""

import hashlib
import json

from dcka.boards.provisioning import Version
from dcka.boards.repl import Repl

# As the firmware's main.py, it has its folder in one line; then it compares all files with version.json.
_MAIN = """FIRMWARE = "/{folder}"
import json, os
from hashlib import sha256
from binascii import hexlify
bad = []
with open(FIRMWARE + "/version.json") as file:
    wanted = json.load(file)
for path in sorted(wanted["files"]):
    with open(FIRMWARE + "/" + path, "rb") as file:
        if hexlify(sha256(file.read()).digest()).decode() != wanted["files"][path]:
            bad.append(path)
print("runs", wanted["firmware"], "damaged" if bad else "whole", bad)
"""


def small_version(word: str, **changes: bytes) -> Version:
    """A version that says `word`, with 4 files and what `changes` has (`name_py` for name.py)."""
    files = {
        "part/same.py": b"# in every version\n" * 30,
        "part/other.py": f"# of version {word}\n".encode() * 200,
        "main_part.py": f"# of version {word}\n".encode(),
        "node.json": json.dumps({"v": 1, "network": "small", "node": 1, "said": word}).encode(),
    }
    files |= {name.replace("_py", ".py"): content for name, content in changes.items()}
    hashes = {path: hashlib.sha256(content).hexdigest() for path, content in files.items()}
    folder = "fw-" + hashlib.sha256(json.dumps(hashes).encode()).hexdigest()[:12]
    files["version.json"] = json.dumps({"v": 1, "firmware": word, "mpy": "source", "files": hashes}).encode()
    main = _MAIN.format(folder=folder).encode()
    return Version(files, folder, main, f"# boot of {word}\n".encode(), "source", word, 1, "small")


def flash_files(version: Version) -> dict[str, bytes]:
    """The version's files as an emulated board is given them."""
    return {path.strip("/"): content for path, content in version.tree().items()}


def heard(port: str, beginning: str) -> str:
    """Listen, without a word to the board, until it prints a line with this beginning."""
    repl = Repl(port)
    try:
        return next(line for line in repl.lines(120.0) if line.startswith(beginning))
    finally:
        repl.close()

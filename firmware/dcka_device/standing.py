"""What there is to say of the versions on a board: read when somebody asks, or the board gets ready."""

from json import load

from dcka_core.voice import START

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MAIN = "main.py"
# The counter of the last manifest that was acted on; why trial.py went back, and from what.
COUNTER_FILE, ROLLED_FILE = "counter.txt", "rolled.txt"


def on_trial() -> bool:
    """Whether main.py is trial.py's: it alone has a version to go back to."""
    try:
        with open(_MAIN) as file:
            return any(line.startswith("LAST = ") for line in file)
    except OSError:
        return False


def standing(home: str) -> "dict[str, Any]":
    """What there is to say of the versions here: what runs, since which manifest, and what was gone back from."""
    said: dict[str, Any] = {"folder": home, "version": "", "counter": 0, "start": START}
    said["state"] = "trial" if on_trial() else "joined"
    try:
        with open(home + "/version.json") as file:
            said["version"] = load(file).get("version", "")
    except (OSError, ValueError):  # of a dcka without updates
        pass
    try:
        with open(COUNTER_FILE) as file:
            said["counter"] = int(file.read())
    except (OSError, ValueError):  # there was no update yet
        pass
    try:
        with open(ROLLED_FILE) as file:
            folder, reason = file.read().split("\n", 1)
        said["rolled_back"] = {"version": folder.strip("/")[3:], "reason": reason[:200]}
    except (OSError, ValueError):  # as it should be
        pass
    return said

"""What main.py is while a version is on trial: starts it, or the last one that joined again where nothing comes of it.

It is the running version's, which has joined; of the new one nothing is trusted, not even that it can be imported. The
version before it puts values into the lines in capitals (`version_files.settle`), and the new one takes this file away
when it has joined (`probation`). To go back is one rename: main.old is the main.py from before.
"""

import gc
import os

FIRMWARE = ""
LAST = ""
STARTS = 3
LIMIT_S = 600

# As main.py does.
gc.threshold(1024)

try:
    import machine
except ImportError:  # a desktop's build without it
    machine = None  # type: ignore[assignment]


def _read(name: str) -> str:
    try:
        with open(name) as file:
            content: str = file.read()
            return content
    except (OSError, ValueError):
        return ""


def _save(name: str, text: str) -> None:
    with open(name + ".new", "w") as file:
        file.write(text)
    os.rename(name + ".new", name)


def back(reason: str) -> None:
    """The last version starts next, and tells why. Nothing in here may keep it from that."""
    print("dcka: rolled back to %s: %s" % (LAST, reason))
    try:
        _save("rolled.txt", FIRMWARE + "\n" + reason)
        os.remove("failed.txt")
    except OSError:  # the flash is full, or no start was counted
        pass
    os.rename("main.old", "main.py")


def _restart() -> None:
    if hasattr(machine, "reset"):
        machine.reset()
    raise SystemExit  # a soft reset


def _too_late(_: object) -> None:
    # Where the version has joined meanwhile, main.py is no trial any more.
    if "LAST = " in _read("main.py"):
        back("did not join within %d s" % LIMIT_S)
        machine.reset()


def _may_start() -> bool:
    """Count this start. Whether the version has another try.

    The end of a sleep is a start, too: a version that finds no access point may sleep for ever before its time is up.
    """
    counted = _read("trial.txt").split(" ")
    starts = int(counted[1]) if counted[0] == FIRMWARE and counted[-1].isdigit() else 0
    if starts >= STARTS:
        last = _read("crash.txt").strip().split("\n")[-1]
        back("%d starts came to nothing%s" % (starts, ", the last with " + last if last else ""))
        return False
    _save("trial.txt", "%s %d" % (FIRMWARE, starts + 1))
    return True


def _start() -> None:
    if hasattr(machine, "WDT"):
        machine.WDT(timeout=120000)
    if hasattr(machine, "Timer"):
        machine.Timer(0).init(mode=machine.Timer.ONE_SHOT, period=LIMIT_S * 1000, callback=_too_late)
    import sys

    sys.path.insert(0, FIRMWARE)
    from dcka_device.guard import run

    run(FIRMWARE, LAST, back)


if not globals().get("stop_reason"):  # boot.py's
    try:
        if _may_start():
            _start()
        else:
            _restart()
    except Exception as error:
        # The version could not even be loaded, or its guard lets faults through; another try would end as this one.
        back("can't be started: %r" % error)
        _restart()

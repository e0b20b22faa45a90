"""Versions on LittleFS, with the power failing at every write: what starts is the old one or the new one, whole."""

import gc
import os
import sys
from json import dumps

sys.path.insert(0, __file__.rsplit("/", 2)[0] + "/core")

from bench import FIRMWARE, Lines, Parts, fresh, machine, put_modules
from chip import away, blank, mount
from support import raises
from update_bench import FILES, HOME, PRESENT, Host, facts, manifest_of

from dcka_core.errors import CoreError
from dcka_core.update import Update
from dcka_device.standing import on_trial, standing
from dcka_device.version_files import VersionFiles, is_version, put_in

KEY = bytes(range(32))
OLD_FILES = {"part/same.py": FILES[3][1], "only/old.py": b"# of the old version"}
NODE = {"network": "t", "node": 1, "update_key": "00", "broker": {"host": "old"}, "update": {"starts": 2}}
BLOCKS = 48
# Of a write: in fewer and larger ones than a board makes there are as many moments at which something changes.
PIECE = 128
REASON = "2 starts came to nothing, the last with ValueError: planted"


def source(name):
    with open(FIRMWARE + "/" + name) as file:
        return file.read()


def write(path, content):
    parts = path.split("/")
    for count in range(1, len(parts)):
        try:
            os.mkdir("/".join(parts[:count]))
        except OSError:
            pass
    with open(path, "wb") as file:
        file.write(content if isinstance(content, bytes) else content.encode())


def read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return b""


def quoted(home):
    return '"/' + home + '"'


def provisioned():
    """A chip with the old version on it, as a cable leaves it; and nothing else."""
    chip = blank(BLOCKS, PIECE)
    mount(chip)
    for path in OLD_FILES:
        write(PRESENT + "/" + path, OLD_FILES[path])
    write(PRESENT + "/node.json", dumps(NODE))
    write(PRESENT + "/version.json", dumps({"version": "0123456789ab"}))
    write(PRESENT + "/trial.py", source("trial.py"))
    write("main.py", put_in(source("main.py"), "FIRMWARE", quoted(PRESENT)))
    write("data.bin", b"the readings")
    return chip


def update():
    """Bring the new version over the air, to the moment of the restart."""
    seen = standing(PRESENT)["counter"]
    host = Host(manifest_of(counter=seen + 1))
    node = Update(VersionFiles(PRESENT, lambda: None), lambda: facts(counter=seen), KEY)
    sent = host.first()
    for _ in range(100):
        answer, start = node.take(sent)
        if start:
            return
        assert "error" not in answer, answer
        sent = host.reply(answer)
    raise AssertionError("it comes to no end")


def boots():
    """Which version main.py starts, which has to be all there."""
    assert read("data.bin") == b"the readings"
    lines = read("main.py").decode().split("\n")
    named = [line for line in lines if line.startswith("FIRMWARE = ")]
    assert len(named) == 1, named
    if named[0] == "FIRMWARE = " + quoted(PRESENT):
        for path in OLD_FILES:
            assert read(PRESENT + "/" + path) == OLD_FILES[path], path
        return "old"
    assert named[0] == "FIRMWARE = " + quoted(HOME)
    for path, content in FILES:
        assert read(HOME + "/" + path) == content, path
    assert b'"node": 1' in read(HOME + "/node.json")
    return "new"


def start(program):
    """What a board does at a start: main.py, with `program` for the guard's `run`. How it ended."""
    names = {"stop_reason": "", "print": Lines(), "__name__": "__main__"}
    before = list(sys.path)
    ended = None
    try:
        put_modules({"dcka_device.guard": Parts(run=program)}, exec, read("main.py").decode(), names)
    except machine.Ended as end:
        ended = end.how
    finally:
        sys.path[:] = before
        if sys.implementation.name == "micropython":
            # It collects after each KB, for a small heap: in this large one that takes all the time.
            gc.threshold(-1)
    return ended, names["print"]


def joins(folder, last="", back=None):
    if last:
        VersionFiles(folder.strip("/"), lambda: None).joined(last.strip("/"))


def crashes(folder, last="", back=None):
    """As the guard does about a crash."""
    write("crash.txt", "Traceback\nValueError: planted\n")
    raise machine.Ended("reset")


def cut_at_every_write(chip, work, look):
    """Do `work` with the power failing at each of its writes in turn, and not at all; `look` at what is left."""
    before = bytes(chip.content)
    mount(chip)
    chip.writes = 0
    work()
    writes = chip.writes
    found = []
    for left in range(writes + 1):
        chip.content = bytearray(before)
        mount(chip)
        chip.left = left
        try:
            work()
        except OSError:
            pass
        chip.left = None
        mount(chip)
        found.append(look(left))
    return found


def in_order(found, first, last):
    """One change from the first to the last, and no way back."""
    changes = [index for index in range(1, len(found)) if found[index] != found[index - 1]]
    return found[0] == first and found[-1] == last and len(changes) == 1


def test_an_update_that_is_cut_at_any_write_leaves_the_old_version_or_the_new():
    fresh()
    chip = provisioned()

    def look(left):
        version = boots()
        assert (version == "new") == on_trial(), left
        if left % 7 == 0:
            # The same call goes on where it was.
            if version == "old":
                update()
            assert boots() == "new"
            assert start(joins)[0] is None
            assert boots() == "new" and not on_trial()
        return version

    found = cut_at_every_write(chip, update, look)
    assert len(found) > 60, len(found)
    assert in_order(found, "old", "new"), found
    away()


def test_a_version_that_joins_is_kept_whatever_write_is_cut():
    fresh()
    chip = provisioned()
    update()

    def look(left):
        assert boots() == "new", left
        trial = on_trial()
        # Where the power came back before it was noted, it joins once more.
        assert start(joins)[0] is None
        assert boots() == "new" and not on_trial(), left
        assert sorted(name for name in os.listdir() if is_version(name)) == [PRESENT, HOME]
        return trial

    found = cut_at_every_write(chip, lambda: start(joins), look)
    assert in_order(found, True, False), found
    assert boots() == "new"
    assert not [name for name in os.listdir() if name in ("main.old", "trial.txt", "rolled.txt")]
    away()


def test_the_way_back_is_found_whatever_write_is_cut():
    fresh()
    chip = provisioned()
    update()
    assert start(crashes)[0] == "reset" and start(crashes)[0] == "reset"

    def look(left):
        version = boots()
        if version == "new":
            assert start(crashes)[0] == "reset", left
        assert boots() == "old" and not on_trial(), left
        assert standing(PRESENT)["rolled_back"] == {"version": HOME[3:], "reason": REASON}, left
        return version

    def work():
        try:
            start(crashes)
        except machine.Ended:
            pass

    found = cut_at_every_write(chip, work, look)
    assert in_order(found, "new", "old"), found
    away()


def test_a_third_version_takes_the_place_of_the_first():
    fresh()
    provisioned()
    update()
    start(joins)
    write("fw-ffffffffffff/old.py", b"# older")
    write(HOME + "/version.json", dumps({"version": HOME[3:]}))
    files = VersionFiles(HOME, lambda: None)
    assert files.homes()[0] == HOME and len(files.homes()) == 3
    write("main.old", read("main.py"))
    files.joined(PRESENT)
    assert sorted(name for name in os.listdir() if is_version(name)) == [PRESENT, HOME]
    away()


def test_a_version_whose_guard_cannot_be_loaded_goes_back_at_once():
    fresh()
    provisioned()
    update()

    def planted(*_):
        raise ImportError("no module named 'guard'")

    how, lines = start(planted)
    assert how == "reset" and boots() == "old"
    reason = "can't be started: ImportError(\"no module named 'guard'\",)"
    said = standing(PRESENT)["rolled_back"]["reason"]
    assert said.replace(",)", ")") == reason.replace(",)", ")"), said
    assert lines == ["dcka: rolled back to /" + PRESENT + ": " + said]
    away()


def test_the_chips_timer_goes_back_where_the_version_never_looks():
    fresh()
    provisioned()
    update()
    assert start(lambda *_: None)[0] is None
    assert machine.board.watchdog_ms == 120000
    assert machine.board.timers[0][0] == 600000
    raises(machine.Ended, machine.board.fire)
    assert boots() == "old"
    assert standing(PRESENT)["rolled_back"]["reason"] == "did not join within 600 s"
    away()


def test_the_chips_timer_leaves_a_version_that_has_joined_alone():
    fresh()
    provisioned()
    update()
    start(joins)
    machine.board.fire()
    assert boots() == "new"
    away()


def test_a_version_that_sleeps_in_place_of_joining_goes_back():
    fresh()
    provisioned()
    update()

    def sleeps(*_):
        machine.deepsleep(60000)

    for _ in range(2):
        assert start(sleeps)[0] == "deepsleep" and boots() == "new"
    assert start(sleeps)[0] == "reset" and boots() == "old"
    assert standing(PRESENT)["rolled_back"]["reason"] == "2 starts came to nothing"
    away()


def test_values_go_into_their_line_alone():
    assert put_in('a\nFIRMWARE = ""\nb', "FIRMWARE", '"/x"') == 'a\nFIRMWARE = "/x"\nb'
    for text in ("", "FIRMWARE = 1\nFIRMWARE = 2", "# FIRMWARE = 1"):
        raises(CoreError, put_in, text, "FIRMWARE", "2")
    for name in ("main.py", "trial.py"):
        put_in(source(name), "FIRMWARE", '"/x"')
    for name in ("LAST", "STARTS", "LIMIT_S"):
        put_in(source("trial.py"), name, "1")

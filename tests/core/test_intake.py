"""A data file in chunks: whole or not at all, whatever becomes of the chunks."""

from io import BytesIO
from json import loads

from bus import Bus
from data_files import data_file, finished
from scenes import Scene
from support import raises

from dcka_core.actions import ADOPT, APPEND, DROP, PUBLISH
from dcka_core.codec import put_varint
from dcka_core.errors import CoreError, MessageError
from dcka_core.intake import ASIDE, Intake
from dcka_core.points import load
from dcka_core.starts import Stream

PUT = "dcka/t/put/1"
GOT = "dcka/t/got/1"


FILE = data_file(list(range(40)))
READINGS = data_file([-5, 7], bits=32)
REMOVE = bytes.fromhex("1809000000")
OTHER = data_file(list(range(100, 160)), dataset=b"datasetB")


def chunk(file, offset, size, transfer=7, total=None):
    out = bytearray([0x15]) + transfer.to_bytes(4, "little")
    put_varint(out, len(file) if total is None else total)
    put_varint(out, offset)
    return bytes(out) + file[offset : offset + size]


def chunks(file, size, transfer=7):
    return [chunk(file, offset, size, transfer) for offset in range(0, len(file), size)]


class Flash:
    """What an intake's actions make of a node's flash."""

    def __init__(self):
        self.aside = b""
        self.file = b""

    def do(self, actions):
        for action in actions:
            if action[0] == APPEND:
                assert action[4] in (len(FILE), len(OTHER))
                assert action[1] == ASIDE and action[3] == (0 if action[3] == 0 else len(self.aside))
                self.aside = (self.aside if action[3] else b"") + action[2]
            else:
                assert action == (ADOPT, ASIDE, "data.bin")
                self.file = self.aside


def feed(intake, flash, payload):
    """One chunk; the answer, that of a shell which could store the file included."""
    actions, answer = intake.take(payload)
    flash.do(actions)
    assert (answer is None) == intake.pending
    return intake.finish("") if answer is None else answer


def fed(payloads):
    """All of them to a new intake: its flash and the last answer."""
    intake, flash = Intake(), Flash()
    answer = None
    for payload in payloads:
        answer = feed(intake, flash, payload)
    return flash, answer


DONE = {"v": 1, "transfer": 7, "next": len(FILE), "done": True}


def test_a_chunk_by_hand():
    assert chunk(b"abc" * 100, 200, 3, 258) == bytes.fromhex("1502010000ac02c801636162")


def test_a_whole_transfer():
    for size in (1, 20, 31, 33, len(FILE) - 1, len(FILE), 1000):
        intake, flash = Intake(), Flash()
        payloads = chunks(FILE, size)
        for number in range(len(payloads)):
            answer = feed(intake, flash, payloads[number])
            if number < len(payloads) - 1:
                assert flash.file == b"", size
                assert answer == {"v": 1, "transfer": 7, "next": (number + 1) * size}, (size, answer)
        assert answer == DONE, (size, answer)
        assert flash.file == FILE, size


def test_chunks_that_come_twice_are_answered_and_not_taken_again():
    payloads = chunks(FILE, 20)
    twice = [payload for payload in payloads for _ in range(2)]
    flash, answer = fed(twice)
    assert flash.file == FILE and answer == DONE


def test_an_answer_that_was_lost_is_given_again():
    intake, flash = Intake(), Flash()
    payloads = chunks(FILE, 20)
    feed(intake, flash, payloads[0])
    for _ in range(3):
        assert feed(intake, flash, payloads[0]) == {"v": 1, "transfer": 7, "next": 20}
    for payload in payloads[1:]:
        feed(intake, flash, payload)
    for payload in (payloads[-1], payloads[0], payloads[3]):
        assert feed(intake, flash, payload) == DONE
    assert flash.file == FILE


def test_chunks_in_the_wrong_order_are_not_taken():
    intake, flash = Intake(), Flash()
    payloads = chunks(FILE, 20)
    feed(intake, flash, payloads[0])
    for payload in (payloads[2], payloads[-1], payloads[3]):
        assert feed(intake, flash, payload) == {"v": 1, "transfer": 7, "next": 20}
    assert flash.aside == FILE[:20] and flash.file == b""
    for payload in payloads[1:]:
        answer = feed(intake, flash, payload)
    assert answer == DONE and flash.file == FILE


def test_whatever_the_order_the_file_is_whole_or_not_there():
    stream = Stream(1, b"intake")
    payloads = chunks(FILE, 25)
    complete = 0
    for _ in range(20):
        intake, flash = Intake(), Flash()
        for _ in range(40):
            answer = feed(intake, flash, payloads[stream.below(len(payloads))])
            assert flash.file in (b"", FILE)
            assert ("done" in answer) == (flash.file == FILE)
        complete += flash.file == FILE
    assert 0 < complete < 20, complete


def test_a_transfer_begins_with_its_first_chunk():
    payloads = chunks(FILE, 20)
    assert fed(payloads[1:])[1] == {"v": 1, "transfer": 7, "next": 0, "error": "restart"}


def test_a_damaged_file_is_refused_and_can_be_sent_again():
    for place in range(len(FILE)):
        damaged = bytearray(FILE)
        damaged[place] ^= 0x10
        intake, flash = Intake(), Flash()
        for payload in chunks(bytes(damaged), 50):
            answer = feed(intake, flash, payload)
        assert answer == {"v": 1, "transfer": 7, "next": len(FILE), "error": "damaged"}, place
        assert flash.file == b"", place
    for payload in chunks(FILE, 50):
        answer = feed(intake, flash, payload)
    assert answer == DONE and flash.file == FILE


def test_a_newer_transfer_takes_the_place_of_the_older():
    """Two hosts at once: the older one is told to begin anew."""
    intake, flash = Intake(), Flash()
    older, newer = chunks(FILE, 20), chunks(OTHER, 20, transfer=8)
    feed(intake, flash, older[0])
    feed(intake, flash, older[1])
    feed(intake, flash, newer[0])
    assert feed(intake, flash, older[2]) == {"v": 1, "transfer": 7, "next": 0, "error": "restart"}
    for payload in newer[1:]:
        answer = feed(intake, flash, payload)
        feed(intake, flash, older[3])
    assert answer == {"v": 1, "transfer": 8, "next": len(OTHER), "done": True}
    assert flash.file == OTHER


def test_two_transfers_chunk_by_chunk_never_mix():
    stream = Stream(2, b"intake")
    either = [chunks(FILE, 30), chunks(OTHER, 30, transfer=8)]
    for _ in range(20):
        intake, flash = Intake(), Flash()
        for _ in range(60):
            one = either[stream.below(2)]
            feed(intake, flash, one[stream.below(len(one))])
            assert flash.file in (b"", FILE, OTHER)


def test_a_total_that_changes_is_refused():
    intake, flash = Intake(), Flash()
    feed(intake, flash, chunk(FILE, 0, 20))
    answer = feed(intake, flash, chunk(FILE, 20, 20, total=len(FILE) + 5))
    assert answer["error"] == "restart"


def test_malformed_chunks_are_refused():
    whole = chunk(FILE, 0, 20)
    cases = [(whole[:size], "length") for size in range(7)] + [
        (whole[:8], "value"),
        (b"\x16" + whole[1:], "version"),
        (b"\x25" + whole[1:], "version"),
        (chunk(FILE, 20, 20, total=39), "value"),
        (chunk(FILE, 0, 20, total=51), "value"),
        (chunk(FILE, 0, 20, total=(1 << 31) + 1), "value"),
    ]
    for payload, reason in cases:
        intake = Intake()
        assert raises(MessageError, intake.take, payload).reason == reason, payload.hex()
        assert not intake.pending


def test_readings_go_to_a_file_of_their_own():
    for size in (1, 5, 6, 1000):
        intake = Intake()
        for payload in chunks(READINGS, size):
            actions, _ = intake.take(payload)
        assert actions[-1] == (ADOPT, ASIDE, "readings.bin"), size


def test_a_word_to_remove_ends_what_is_under_way():
    intake, flash = Intake(), Flash()
    feed(intake, flash, chunks(FILE, 20)[0])
    removed = {"v": 1, "transfer": 9, "next": 0, "removed": True}
    for _ in range(2):
        assert intake.take(REMOVE) == ([(DROP,)], removed)
        assert not intake.under_way
    assert feed(intake, flash, chunks(FILE, 20)[1])["error"] == "restart"
    for payload in (REMOVE[:4], REMOVE + b"x"):
        assert raises(MessageError, intake.take, payload).reason == "length"


def test_a_shell_that_cannot_store_says_so_at_once():
    intake = Intake()
    intake.take(chunks(FILE, 20)[0])
    assert intake.under_way and not intake.pending
    assert intake.finish("no room: 9 KB needed, 1 KB free") == {
        "v": 1, "transfer": 7, "next": 20, "error": "no room: 9 KB needed, 1 KB free",
    }  # fmt: skip
    assert not intake.under_way
    assert intake.take(chunks(FILE, 20)[1])[1]["error"] == "restart"


# ---- at a node ----


class StoringBus(Bus):
    """A bus whose nodes load what they adopt, as the shells do."""

    def perform(self, node, actions):
        for action in actions:
            if action[0] != ADOPT:
                super().perform(node, [action])
                continue
            machine = self.nodes[node]
            file = self.flash[node].pop(action[1])
            try:
                points = load(BytesIO(file))
            except CoreError as error:
                self.perform(node, machine.data_failed(str(error), self.now))
            else:
                self.flash[node][action[2]] = file
                self.perform(node, machine.data_loaded(points, self.now))


def answers(bus):
    return [loads(payload) for topic, payload in bus.log if topic == GOT]


def put(bus, payloads):
    bus.log = []
    for payload in payloads:
        bus.publish(PUT, payload)
        bus.settle()
    return answers(bus)


def test_a_node_takes_its_data_and_says_so():
    bus = StoringBus()
    bus.add(1, None)
    bus.settle()
    told = put(bus, chunks(FILE, 30))
    assert [answer["next"] for answer in told] == [30, 60, 90, 120, 140]
    assert told[-1] == DONE and len(FILE) == 140
    assert bus.flash[1]["data.bin"] == FILE and ASIDE not in bus.flash[1]
    status = loads(bus.retained["dcka/t/status/1"])
    assert status["dataset"] == b"datasetA".hex() and status["rows"] == 20 and "problem" not in status


def test_a_file_that_cannot_be_read_leaves_the_old_one():
    bus = StoringBus()
    bus.add(1, None)
    bus.settle()
    put(bus, chunks(FILE, 40))
    body = FILE[:5] + b"\x10" + FILE[6:-32]
    told = put(bus, chunks(finished(body), 40, transfer=9))
    assert "16 bits" in told[-1]["error"] and "done" not in told[-1]
    assert bus.flash[1]["data.bin"] == FILE
    status = loads(bus.retained["dcka/t/status/1"])
    assert "16 bits" in status["problem"]
    told = put(bus, chunks(OTHER, 40, transfer=10))
    assert told[-1]["done"] and bus.flash[1]["data.bin"] == OTHER
    status = loads(bus.retained["dcka/t/status/1"])
    assert status["dataset"] == b"datasetB".hex() and "problem" not in status, status


def test_a_node_in_a_run_is_busy():
    for links in ({1: 0, 2: 1}, [[(1, 2)]]):
        scene = Scene({1: [1, 2, 30, 4], 2: [5, 60, 7, 8]}, links, StoringBus(), k=2)
        bus = scene.bus
        node = bus.nodes[1]
        scene.start()
        while not scene.session(1):
            bus.step()
        actions = node.receive(PUT, chunk(FILE, 0, 40), bus.now)
        told = [loads(action[2]) for action in actions if action[0] == PUBLISH and action[1] == GOT]
        assert told == [{"v": 1, "transfer": 7, "next": 0, "error": "busy"}], actions
        assert [action for action in actions if action[0] != PUBLISH] == []
        assert bus.run(bus.all_done)
        bus.settle()
        assert put(bus, chunks(FILE, 40))[-1] == DONE
        assert bus.flash[1]["data.bin"] == FILE


def test_a_node_removes_its_data_when_it_is_told_to():
    bus = StoringBus()
    bus.add(1, None)
    bus.settle()
    put(bus, chunks(FILE, 40))
    assert put(bus, [REMOVE]) == [{"v": 1, "transfer": 9, "next": 0, "removed": True}]
    status = loads(bus.retained["dcka/t/status/1"])
    assert (status["dataset"], status["rows"]) == ("", 0) and "data.bin" not in bus.flash[1]
    assert put(bus, chunks(OTHER, 40, transfer=10))[-1]["done"]


def test_what_cannot_be_stored_is_answered_with_the_first_chunk():
    bus = StoringBus()
    bus.add(1, None)
    bus.settle()
    bus.log = []
    node = bus.nodes[1]
    node.receive(PUT, chunks(FILE, 40)[0], bus.now)
    bus.perform(1, node.data_failed("the data can't be stored: no room: 9 KB needed, 1 KB free", bus.now))
    assert answers(bus)[-1]["error"].endswith("no room: 9 KB needed, 1 KB free")


def test_a_malformed_chunk_is_counted():
    bus = StoringBus()
    bus.add(1, None)
    bus.settle()
    assert put(bus, [b"", b"\x15\x01", b"\x26" + bytes(20)]) == []
    assert bus.nodes[1].dropped == {"length": 2, "version": 1}

"""An update on the node: the version that starts is the one that was signed, whole, or it stays the old one."""

from support import raises
from update_bench import (
    FILES,
    HOME,
    KEY,
    Cut,
    Host,
    MemoryFlash,
    facts,
    manifest_of,
    message,
    updated,
)

from dcka_core.errors import CoreError, MessageError
from dcka_core.manifest import is_path, merged
from dcka_core.signing import Hmac, node_key, same
from dcka_core.starts import Stream
from dcka_core.update import ASK, FORGET, GO_ON, PIECE, START, Update

# RFC 4231, cases 1 to 4, 6 and 7.
VECTORS = (
    ("0b" * 20, b"Hi There", "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"),
    (
        "4a656665",
        b"what do ya want for nothing?",
        "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    ),
    ("aa" * 20, b"\xdd" * 50, "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"),
    (
        "0102030405060708090a0b0c0d0e0f10111213141516171819",
        b"\xcd" * 50,
        "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b",
    ),
    (
        "aa" * 131,
        b"Test Using Larger Than Block-Size Key - Hash Key First",
        "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54",
    ),
)


def whole(flash):
    """The new version's files on flash are those that were signed."""
    return all(flash.files.get(HOME + "/" + path) == content for path, content in FILES)


def test_hmac_is_that_of_the_rfc_whatever_the_pieces():
    for key, text, wanted in VECTORS:
        for size in (1, 7, 64, 200):
            code = Hmac(bytes.fromhex(key))
            for start in range(0, len(text), size):
                code.update(text[start : start + size])
            assert code.digest() == bytes.fromhex(wanted), (key, size)


def test_digests_are_the_same_only_where_every_bit_is():
    digest = node_key(KEY, "t", 1)
    assert same(digest, bytes(digest))
    assert not same(digest, digest[:-1])
    for place in range(len(digest)):
        other = bytearray(digest)
        other[place] ^= 1 << (place % 8)
        assert not same(digest, bytes(other)), place


def test_each_node_has_a_key_of_its_own():
    keys = {node_key(KEY, network, node) for network in ("t", "u") for node in (1, 2, 11, 12)}
    assert len(keys) == 8
    assert KEY not in keys


def test_an_update_without_faults():
    flash = MemoryFlash()
    host = Host()
    answer = updated(flash, host)
    assert answer["started"] and answer["want"] == len(FILES)
    assert whole(flash)
    # What the present version has did not travel: the settings in one piece, the new file in seven.
    assert host.pieces == 1 + 7
    home, counter, settings = flash.settled
    assert (home, counter) == (HOME, 5)
    # Who the node is, its key and its password stay.
    assert settings == {
        "network": "t",
        "node": 1,
        "update_key": "00",
        "broker": {"host": "new", "password": "secret"},
        "keepalive": 20,
    }


def test_pieces_of_any_size_lost_doubled_and_out_of_order():
    for seed in range(20):
        flash = MemoryFlash()
        random = Stream(seed, b"update")
        host = Host(size=1 + random.below(400))
        update = Update(flash, facts, KEY)
        waiting = [host.first()]
        past = []
        answer = None
        for _ in range(20000):
            # What is lost is said again: the host's last word.
            sent = waiting.pop(random.below(len(waiting))) if waiting else host.reply(answer)
            past = past[-20:] + [sent]
            answer, start = update.take(sent)
            if start:
                break
            chance = random.below(10)
            if chance < 6:
                waiting.append(host.reply(answer))
            if chance == 0:
                waiting.append(past[random.below(len(past))])
        assert start and whole(flash), seed


def test_garbage_changes_nothing():
    random = Stream(3, b"garbage")
    flash = MemoryFlash()
    host = Host()
    update = Update(flash, facts, KEY)
    sent = host.first()
    for _ in range(400):
        for _ in range(5):
            noise = bytes([random.below(256) for _ in range(random.below(40))])
            for payload in (
                message(random.below(8), rest=noise),
                message(PIECE, rest=noise, transfer=9),
                noise,
            ):
                try:
                    _, start = update.take(payload)
                    assert not start
                except MessageError:
                    pass
        answer, start = update.take(sent)
        if start:
            break
        sent = host.reply(answer)
    assert start and whole(flash)


def test_every_flipped_bit_of_a_manifest_is_refused():
    genuine = manifest_of()
    for place in range(len(genuine)):
        flash = MemoryFlash()
        forged = bytearray(genuine)
        forged[place] ^= 1 << (place % 8)
        answer = updated(flash, Host(bytes(forged), size=4000))
        assert answer["error"].startswith("signature"), place
        assert flash.settled is None
    for size in (0, 1, 31, 32, 33, len(genuine) - 1):
        if size:
            answer = updated(MemoryFlash(), Host(genuine[:size], size=4000))
            assert answer["error"].startswith("signature"), size


def test_another_key_and_no_key_are_refused():
    assert updated(MemoryFlash(), Host(manifest_of(key=bytes(32))))["error"].startswith("signature")
    update = Update(MemoryFlash(), facts, b"")
    answer, _ = update.take(Host(size=4000).first())
    assert answer["error"].startswith("key")


def test_what_the_node_refuses_and_by_which_word():
    cases = (
        ({}, {}, ""),
        ({"counter": 4}, {}, "old"),
        ({"counter": 3}, {}, "old"),
        ({"node": 2}, {}, "address"),
        ({"network": "u"}, {}, "address"),
        ({}, {"state": "trial"}, "trial"),
        ({}, {"version": "a1b2c3d4e5f6"}, "same"),
        ({"start": 2}, {}, "cable"),
        ({"protocol": 2}, {}, "cable"),
        ({"micropython": [[1, 30], [1, 99]]}, {}, "micropython"),
        ({"micropython": [[1, 20], [1, 28, 9]]}, {}, "micropython"),
        ({}, {"mpy": 6 | 3 << 8 | 11 << 10}, "architecture"),
        ({}, {"mpy": 6 | 2 << 8 | 10 << 10}, "architecture"),
        # No code of the machine: every architecture does; sources: everything does.
        ({"mpy": 6 | 3 << 8}, {"mpy": 6 | 3 << 8 | 11 << 10}, ""),
        ({"mpy": 0}, {"mpy": 0}, ""),
        ({}, {"firmware": "0.2.0"}, "downgrade"),
        ({"rollback": True}, {"firmware": "0.2.0"}, ""),
        ({"firmware": "0.10.0"}, {"firmware": "0.9.9"}, ""),
        ({}, {"battery_mv": 3400, "least_mv": 3500}, "battery"),
        ({}, {"battery_mv": 3500, "least_mv": 3500}, ""),
        ({}, {"battery_mv": None, "least_mv": 3500}, ""),
    )
    for changed, said, word in cases:
        flash = MemoryFlash()
        answer = updated(flash, Host(manifest_of(**changed)), facts(**said))
        assert answer.get("error", "").partition(":")[0] == word, (changed, said, answer)
        assert (flash.settled is None) == bool(word)


def test_without_room_nothing_is_written_of_the_files():
    flash = MemoryFlash()
    flash.full = "no room: 90 KB needed, 8 KB free"
    assert updated(flash, Host())["error"] == flash.full
    assert not [path for path in flash.files if path.startswith(HOME)]


def test_a_node_that_restarts_goes_on_with_what_it_has():
    # The power goes at every write; the node starts with nothing in its memory, and the host says the same again.
    full = MemoryFlash()
    full.left = 1000
    updated(full, Host())
    writes = 1000 - full.left
    assert writes > 15
    for cut in range(writes):
        flash = MemoryFlash()
        flash.left = cut
        raises(Cut, updated, flash, Host())
        assert flash.settled is None, cut
        flash.left = None
        again = Host(transfer=8)
        assert updated(flash, again)["started"]
        assert whole(flash), cut
        if cut > writes - 3:
            assert not again.pieces


def test_a_file_that_arrives_damaged_is_asked_for_again_and_never_starts():
    flash = MemoryFlash()
    host = Host()
    update = Update(flash, facts, KEY)
    sent = host.first()
    spoilt = 0
    for _ in range(200):
        if not spoilt and sent[5] == PIECE and sent[6] == 2:
            sent = sent[:-1] + bytes([sent[-1] ^ 1])
            spoilt = 1
        answer, start = update.take(sent)
        if answer.get("error"):
            assert answer["error"] == "damaged: part/new.py" and answer["next"] == 0
            spoilt = 2
        if start:
            break
        sent = host.reply(answer)
    assert spoilt == 2 and start and whole(flash)


def test_a_file_that_changes_on_flash_before_the_start_is_found():
    flash = MemoryFlash()
    host = Host()
    update = Update(flash, facts, KEY)
    sent = host.first()
    while sent[5] != START:
        answer, _ = update.take(sent)
        sent = host.reply(answer)
    flash.files[HOME + "/part/new.py"] = bytes(len(FILES[2][1]))
    answer, start = update.take(sent)
    assert not start and answer["error"].startswith("damaged") and flash.settled is None
    # It is asked for once more, and then all is well.
    while not start:
        answer, start = update.take(host.reply(answer))
    assert whole(flash)


def test_nothing_starts_before_all_is_there():
    update = Update(MemoryFlash(), facts, KEY)
    answer, start = update.take(message(START))
    assert not start and answer["want"] == -1
    update.take(Host(size=4000).first())
    for what in (START, GO_ON, START):
        _, start = update.take(message(what))
        assert not start


def test_who_asks_hears_what_the_node_is_and_starts_nothing():
    flash = MemoryFlash()
    answer, start = Update(flash, facts, KEY).take(message(ASK))
    assert not start
    assert answer["facts"] == facts() and answer["want"] == -1
    assert raises(MessageError, Update(flash, facts, KEY).take, message(ASK, 1)).reason == "length"


def test_a_forgotten_update_leaves_nothing():
    flash = MemoryFlash()
    before = dict(flash.files)
    host = Host()
    update = Update(flash, facts, KEY)
    answer, _ = update.take(host.first())
    while answer["want"] < 2:
        answer, _ = update.take(host.reply(answer))
    assert len(flash.files) > len(before)
    update.take(message(FORGET))
    assert flash.files == before


def test_paths_stay_within_the_folder():
    for path in (
        "",
        "/a",
        "a/",
        "../a",
        "a/../../b",
        "a//b",
        ".",
        "a\\b",
        "node.json",
        "a.new",
        "b.new/c",
        3,
        None,
    ):
        assert not is_path(path), path
    assert is_path("dcka_core/node.mpy") and is_path("main.json")
    files = [("../boot.py", b"x")]
    assert updated(MemoryFlash(), Host(manifest_of(files), files))["error"].startswith("manifest")


def test_settings_keep_who_the_node_is():
    old = {
        "v": 1,
        "network": "t",
        "node": 1,
        "update_key": "k",
        "wifi": {"ssid": "a", "password": "p"},
        "rows": 1,
    }
    assert merged(old, {"wifi": {"ssid": "b"}}) == {
        "v": 1,
        "network": "t",
        "node": 1,
        "update_key": "k",
        "wifi": {"ssid": "b", "password": "p"},
    }
    assert old["wifi"] == {"ssid": "a", "password": "p"}
    for bad in ({"node": 2}, {"network": "u"}, {"update_key": "x"}, {"v": 2}, {"wifi": {"password": "x"}}):
        assert str(raises(CoreError, merged, old, bad)).startswith("config")
    files = [("config.json", b'{"node":2}')]
    assert updated(MemoryFlash(), Host(manifest_of(files), files))["error"].startswith("config")

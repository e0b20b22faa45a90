"""Data that stay in their file: the same bits as in memory, and every damaged byte found before it counts."""

import gc
from array import array
from io import BytesIO

from bus import make_points
from data_files import block, data_file
from plain_kmeans import kmeans, tuples
from scenes import DATASET, FORK, SQUARE, STAR, Scene, cloud
from support import raises, skip

from dcka_core.blocks import FileBlocks
from dcka_core.errors import DataError
from dcka_core.lloyd import assign
from dcka_core.points import load
from dcka_core.starts import draw_local

PER_BLOCK = 7


class File:
    """A file on flash that can be damaged between two openings. opened: how often it was."""

    def __init__(self, content):
        self.content = bytearray(content)
        self.opened = 0
        self.fails = False

    def open(self):
        self.opened += 1
        if self.fails:
            raise OSError(5)
        return BytesIO(bytes(self.content))


def streamed(n, bits, readings, head=b"head"):
    """(points in a file, in blocks of 7; the file)."""
    cuts = range(0, len(readings), PER_BLOCK * n)
    pieces = [block(readings[cuts[k] : cuts[k] + PER_BLOCK * n], k) for k in range(len(cuts))]
    file = File(head + b"".join(pieces))
    points = make_points(n, bits, DATASET, [(1 << bits) - 1] * n, readings)
    points.per_block = PER_BLOCK
    points.blocks = FileBlocks(file.open, len(head), n, 2, points.count, PER_BLOCK)
    return points, file


class StreamingScene(Scene):
    """A scene whose nodes' points lie in files."""

    def points(self, node):
        points, file = streamed(self.n, self.bits, self.data[node])
        if not hasattr(self, "files"):
            self.files = {}
        self.files[node] = file
        return points


def data_of(nodes, count=17):
    return {node: cloud(node, count + node) for node in nodes}


# ---- the same bits ----


def test_the_blocks_are_those_of_the_list():
    for count in (1, 6, 7, 8, 14, 20):
        readings = cloud(1, count)
        points, _ = streamed(2, 15, readings)
        blocks = points.blocks
        assert len(blocks) == (count + 6) // 7
        for _ in range(2):
            flat = [value for held, here in blocks for value in held[: 2 * here]]
            assert flat == readings, count
        for number in range(len(blocks) - 1, -1, -1):
            held, here = blocks[number]
            assert list(held[: 2 * here]) == readings[14 * number : 14 * number + 2 * here], (count, number)
        raises(IndexError, lambda blocks=blocks: blocks[len(blocks)])
        raises(IndexError, lambda blocks=blocks: blocks[-1])


def test_a_step_and_a_draw_have_the_same_bits():
    for n, bits in ((1, 15), (2, 15), (3, 14)):
        readings = cloud(3, 40, n, bits)
        points, _ = streamed(n, bits, readings)
        memory = make_points(n, bits, DATASET, [(1 << bits) - 1] * n, readings)
        drawn = draw_local(points, 5, 9, 2)
        assert drawn == draw_local(memory, 5, 9, 2), n
        assert assign(points, drawn, 5) == assign(memory, drawn, 5), n


def test_a_run_has_the_same_bits_with_every_start_and_of_both_kinds():
    given = [1000, 2000, 30000, 100, 20, 32000]
    for links in (FORK, STAR, SQUARE):
        nodes = links if isinstance(links, dict) else (1, 2, 3, 4)
        data = data_of(nodes)
        for settings in ({"init": "shared"}, {"init": "local"}, {"init": "given", "centres": given}):
            finals = []
            for scene in (Scene, StreamingScene):
                made = scene(data, links, **settings).finish()
                finals.append([(held.step, held.centres, held.ssd) for held in map(made.held, data)])
            assert finals[0] == finals[1], (links, settings)


def test_what_is_large_against_the_room_stays_in_its_file():
    readings = array("H", bytes(2 * (2 * 4096 + 10)))
    for number in range(len(readings)):
        readings[number] = 3 * number
    content = data_file(readings)
    size = 2 * len(readings)
    for room, stays in ((size, False), (size - 1, True), (0, True), (-5, True)):
        points = load(BytesIO(content), lambda: BytesIO(content), room)
        assert isinstance(points.blocks, FileBlocks) == stays, room
        at = 0
        for held, here in points.blocks:
            assert list(held[: 2 * here]) == list(readings[at : at + 2 * here]), (room, at)
            at += 2 * here
        assert at == len(readings)
        assert points.digest == content[-32:] and points.count == len(readings) // 2
    one = data_file(readings[:4096])
    assert isinstance(load(BytesIO(one), lambda: BytesIO(one), -5).blocks, list)


def test_a_file_is_checked_when_it_is_loaded_though_it_stays():
    content = data_file([number % 32768 for number in range(2 * 4096 + 10)])
    for place in range(0, len(content), 97):
        damaged = bytearray(content)
        damaged[place] ^= 4
        raises(Exception, load, BytesIO(bytes(damaged)), lambda: None)
    text = str(raises(DataError, load, BytesIO(data_file([0] * 4096 + [32768, 1])), lambda: None))
    assert "block 1 of data.bin is damaged (a reading of 32768 is beyond 15 bits)" in text


# ---- what is damaged ----


def read_all(blocks):
    for _ in blocks:
        pass


def test_every_damaged_byte_of_a_block_is_found_and_its_block_named():
    points, file = streamed(2, 15, cloud(5, 17))
    whole = bytes(file.content)
    blocks = points.blocks
    for place in range(4, len(whole)):
        number = (place - 4) // 32
        for flip in (0x01, 0x80, 0xFF):
            file.content = bytearray(whole)
            file.content[place] ^= flip
            text = str(raises(DataError, read_all, blocks))
            wanted = "block %d of data.bin is damaged (its CRC-32 is wrong): inject the data again" % number
            assert text == wanted, (place, flip, text)
            assert str(raises(DataError, blocks.__getitem__, number)) == wanted
            blocks[(number + 1) % 3]
    file.content = bytearray(whole)
    read_all(blocks)


def test_blocks_that_changed_places_are_found():
    points, file = streamed(2, 15, cloud(5, 14))
    file.content = file.content[:4] + file.content[36:68] + file.content[4:36]
    assert "block 0 of" in str(raises(DataError, read_all, points.blocks))


def test_a_file_that_is_cut_or_cannot_be_read_is_found():
    points, file = streamed(2, 15, cloud(5, 17))
    whole = bytes(file.content)
    for size in range(len(whole)):
        file.content = bytearray(whole[:size])
        assert "is damaged" in str(raises(DataError, read_all, points.blocks)), size
    file.fails = True
    assert "block 0 of data.bin is damaged (the flash says" in str(raises(DataError, read_all, points.blocks))
    assert "block 2 of" in str(raises(DataError, points.blocks.__getitem__, 2))


def damaged_run(links, node, opened, **settings):
    """A run in which a block of `node` goes bad when its file has been opened so often; the scene."""
    scene = StreamingScene(data_of(links), links, **settings)
    scene.bus.log = []
    scene.start()
    file = scene.files[node]
    while file.opened < opened:
        assert scene.bus.step()
    file.content[40] ^= 1

    def others_done():
        return all(scene.session(other) and scene.session(other).done for other in links if other != node)

    assert scene.bus.run(others_done, 20000), scene.told()
    scene.bus.settle()
    return scene


def test_a_node_with_a_damaged_block_leaves_and_the_others_end_partial():
    for links in (FORK, STAR):
        for node in links:
            for opened in (0, 2):
                scene = damaged_run(links, node, opened)
                status = scene.status(node)
                assert status["problem"] == (
                    "the data can't be read: block 1 of data.bin is damaged (its CRC-32 is wrong): "
                    "inject the data again"
                ), (links, node)
                assert (status["state"], status["run"], status["dataset"]) == ("ready", 1, ""), status
                assert scene.session(node) is None
                finals = [scene.held(other) for other in links if other != node]
                index = scene.record()["members"].index(node)
                for held in finals:
                    assert (held.contributors, held.missing) == (
                        ((1 << len(links)) - 1) & ~(1 << index),
                        1 << index,
                    )
                    assert (held.step, held.centres) == (finals[0].step, finals[0].centres)


def test_no_sums_of_damaged_data_are_sent():
    """With the block bad from the beginning, the run is that of the others alone, and the node says nothing on x."""
    for node in (2, 7, 9):
        scene = damaged_run(FORK, node, 0)
        others = [other for other in scene.record()["members"] if other != node]
        points = [tuples(scene.data[other], 2) for other in others]
        shared, _ = scene.starts()
        steps = kmeans(points, shared[1:], None, 30)
        held = scene.held(others[0])
        assert [tuple(place) for place in tuples(held.centres, 2)] == steps[-1][0], (node, steps[-1])
        assert not [topic for topic, _ in scene.bus.log if topic == "dcka/t/x/0/%d" % node]


def test_a_node_that_has_left_stays_out_until_it_has_new_data():
    scene = damaged_run(STAR, 3, 0)
    before = scene.status(3)["problem"]
    scene.start(2)
    scene.bus.run_for(50)
    assert scene.session(3) is None and scene.status(3)["problem"] == before
    scene.bus.perform(3, scene.bus.nodes[3].data_loaded(scene.points(3), scene.bus.now))
    assert scene.bus.run(scene.bus.all_done, 20000), scene.told()
    assert "problem" not in scene.status(3)
    assert scene.held(3).missing == 0 or scene.held(3).missing == scene.held(1).missing


def test_a_node_of_gossip_leaves_too():
    scene = StreamingScene(data_of((1, 2, 3, 4)), SQUARE)
    scene.start()
    scene.files[2].content[40] ^= 1
    scene.bus.run_for(300)
    assert scene.session(2) is None and "block 1 of data.bin" in scene.status(2)["problem"]
    assert scene.session(1) is not None


# ---- the heap ----


class KeptOpen:
    """A file that is opened without taking memory."""

    def __init__(self, content):
        self.stream = BytesIO(content)
        self.seek = self.stream.seek
        self.readinto = self.stream.readinto

    def open(self):
        return self

    def close(self):
        pass


def test_a_pass_allocates_nothing_for_a_block():
    if not hasattr(gc, "mem_alloc"):
        skip("CPython does not count")
    taken = []
    for count in (14, 14 * 20):
        _, file = streamed(2, 15, cloud(6, count))
        blocks = FileBlocks(KeptOpen(bytes(file.content)).open, 4, 2, 2, count, PER_BLOCK)
        read_all(blocks)
        gc.collect()
        gc.disable()
        try:
            before = gc.mem_alloc()
            read_all(blocks)
            taken.append(gc.mem_alloc() - before)
        finally:
            gc.enable()
    assert taken[0] == taken[1], taken


def test_another_file_in_the_place_of_the_loaded_one_is_found():
    """Where there is machine code; elsewhere its CRCs are all that is known of a file."""
    try:
        __import__("dcka_core.fold_viper")
    except (ImportError, ValueError, SyntaxError):
        skip("no machine code here")
    points, file = streamed(2, 15, cloud(5, 17))
    read_all(points.blocks)
    file.content = bytearray(block(cloud(6, 17)[:14], 0))
    file.content = bytearray(b"head") + file.content + bytes(64)
    assert "block 0 of data.bin is damaged (it is not the one that was loaded)" in str(
        raises(DataError, read_all, points.blocks)
    )


def test_every_damaged_byte_is_found_in_blocks_that_were_read_before():
    for n, bits in ((1, 15), (2, 15), (3, 14)):
        points, file = streamed(n, bits, cloud(5, 17, n, bits))
        read_all(points.blocks)
        whole = bytes(file.content)
        size = PER_BLOCK * 2 * n
        rest = 3 * 2 * n
        for place in range(4, len(whole) - 4):
            number = (place - 4) // (size + 4)
            if (place - 4) % (size + 4) >= (rest if number == 2 else size):
                continue
            for flip in (0x01, 0x80, 0xFF):
                file.content = bytearray(whole)
                file.content[place] ^= flip
                text = str(raises(DataError, read_all, points.blocks))
                assert text.startswith("block %d of data.bin is damaged (its CRC-32 is wrong)" % number), (
                    n,
                    place,
                )
        file.content = bytearray(whole)
        read_all(points.blocks)

"""The Birch sets: found, proved, and refused in one sentence."""

import gzip
import http.server
import threading

import numpy as np
import pytest

from dcka.datasets import birch
from dcka.inject.errors import DataError


@pytest.fixture(scope="module")
def content(shared_data):
    return gzip.decompress((shared_data / "birch2.txt.gz").read_bytes())


@pytest.fixture
def served(content):
    """The address of a server on loopback that gives out birch2.txt."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200 if self.path == "/birch2.txt" else 404)
            self.end_headers()
            if self.path == "/birch2.txt":
                self.wfile.write(content)

        def log_message(self, *_):
            pass

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.slow
@pytest.mark.parametrize("name", birch.SETS)
def test_the_sets_in_the_shared_folder(shared_data, name):
    table = birch.load(name, shared_data)
    assert table.shape == (100_000, 2)
    assert (np.diff(table[:, 0]) >= 0).all()


def test_the_order_of_rows_and_their_spaces_do_not_matter(content, tmp_path):
    lines = content.splitlines()
    (tmp_path / "birch2.txt").write_bytes(
        b"\r\n".join(b"   " + line.replace(b" ", b"\t ") for line in reversed(lines))
    )
    assert birch.digest(birch.load("birch2", tmp_path)) == birch.SETS["birch2"].sha256


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (
            lambda c: c[: len(c) // 2].rsplit(b"\n", 1)[0],
            "rows and birch2 has 100,000; get it anew from https://",
        ),
        (lambda c: c.replace(b"58882 63168", b"58882 63169"), "is not birch2: the checksum of its rows is"),
        (lambda c: c.replace(b"58882 63168", b"58882 north"), "58882 north', is not two whole numbers"),
        (lambda c: c.replace(b"58882 63168", b"58882"), "58882', is not two whole numbers"),
    ],
)
def test_another_file_is_refused(content, tmp_path, spoil, words):
    (tmp_path / "birch2.txt").write_bytes(spoil(content))
    with pytest.raises(DataError) as caught:
        birch.load("birch2", tmp_path)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_a_damaged_archive_a_missing_file_and_an_unknown_set(tmp_path):
    (tmp_path / "birch1.txt.gz").write_bytes(b"no archive")
    for name, words in (
        ("birch1", "birch1.txt.gz cannot be read"),
        ("birch2", f"birch2.txt is not in {tmp_path}: have it fetched with --fetch"),
        ("birch4", "there is no set 'birch4'; the sets are birch1, birch2, birch3"),
    ):
        with pytest.raises(DataError, match=words):
            birch.load(name, tmp_path)


def test_fetched_once_whole_and_checked(served, tmp_path):
    file = birch.fetch("birch2", tmp_path / "new", served)
    assert birch.find("birch2", tmp_path / "new") == file
    with pytest.raises(DataError, match=r"birch1.txt cannot be loaded \(Not Found\); put the file into"):
        birch.fetch("birch1", tmp_path, served)
    assert not (tmp_path / "birch1.txt").exists()


def test_a_page_that_does_not_answer(tmp_path):
    with pytest.raises(DataError, match="cannot be loaded"):
        birch.fetch("birch1", tmp_path, "http://127.0.0.1:1")

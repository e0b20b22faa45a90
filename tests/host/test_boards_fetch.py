"""An image is loaded once, checked each time, and without a network a line says what to do."""

import hashlib
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from esp_images import whole_image

from dcka.boards import fetch
from dcka.boards.chips import CHIPS
from dcka.boards.errors import WrongChip
from dcka.boards.fetch import FetchError, cache_folder, fetch_image, file_name
from dcka.boards.images import ImageError

C6 = CHIPS["esp32c6"]  # for which no SHA-256 is pinned
NAME = "ESP32_GENERIC_C6-20260824-v1.29.0.bin"
IMAGE = whole_image("esp32c6")
DIGEST = hashlib.sha256(IMAGE).hexdigest()


class Site:
    """A web server on loopback: `files` by path; `said` counts questions. `cut`: so many bytes less than promised."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.moved: dict[str, str] = {}
        self.cut = 0
        self.said = 0
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.said += 1
                content = site.files.get(self.path)
                if self.path in site.moved:
                    self.send_response(302)
                    self.send_header("Location", site.moved[self.path])
                    content = b""
                else:
                    self.send_response(404 if content is None else 200)
                content = content or b""
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content[: len(content) - site.cut])

            def log_message(self, format: str, *args: object) -> None:
                """Nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/firmware"


@pytest.fixture
def site() -> Iterator[Site]:
    made = Site()
    made.files[f"/firmware/{NAME}"] = IMAGE
    thread = threading.Thread(target=made.server.serve_forever, args=(0.01,))
    thread.start()
    with made.server:
        yield made
        made.server.shutdown()
    thread.join()


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.glob("*"))


def test_an_image_is_loaded_once_and_kept(site: Site, tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    first = fetch_image(C6, folder=tmp_path / "new", address=site.address, on_bytes=lambda *b: told.append(b))
    assert (first.image.data, first.loaded, first.proof) == (IMAGE, True, "none")
    assert told[-1] == (len(IMAGE), len(IMAGE))
    again = fetch_image(C6, folder=tmp_path / "new", address=site.address)
    assert (again.image.data, again.loaded, again.proof) == (IMAGE, False, "kept")
    assert site.said == 1
    assert names(tmp_path / "new") == [NAME, f"{NAME}.sha256"]
    assert again.path.with_name(f"{NAME}.sha256").read_text().split() == [DIGEST, NAME]


def test_a_file_that_a_person_put_there_is_taken(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(IMAGE)
    found = fetch_image(C6, folder=tmp_path, address="http://127.0.0.1:1")
    assert (found.image.data, found.loaded, found.proof) == (IMAGE, False, "none")


def test_a_digest_of_ones_own_counts_alone(site: Site, tmp_path: Path) -> None:
    with pytest.raises(ImageError, match="another file"):
        fetch_image(C6, sha256="0" * 64, folder=tmp_path, address=site.address)
    assert names(tmp_path) == []
    assert fetch_image(C6, sha256=DIGEST, folder=tmp_path, address=site.address).proof == "given"
    with pytest.raises(ImageError, match="another file"):
        fetch_image(C6, sha256="0" * 64, folder=tmp_path, address=site.address)


def test_another_image_than_the_pinned_one_is_refused(site: Site, tmp_path: Path) -> None:
    esp32 = CHIPS["esp32"]
    other = whole_image("esp32")
    site.files[f"/firmware/{file_name(esp32)}"] = other
    with pytest.raises(ImageError, match=fetch.PINNED[file_name(esp32)]):
        fetch_image(esp32, folder=tmp_path, address=site.address)
    assert names(tmp_path) == []
    (tmp_path / file_name(esp32)).write_bytes(other)
    with pytest.raises(ImageError, match=r"Remove .* or say --sha256"):
        fetch_image(esp32, folder=tmp_path, address=site.address)


def test_what_is_pinned_is_what_is_fetched() -> None:
    names = {file_name(chip) for chip in CHIPS.values()}
    assert set(fetch.PINNED) <= names
    assert all(len(digest) == 64 and int(digest, 16) for digest in fetch.PINNED.values())


def test_a_file_that_changed_in_the_cache_is_noticed(site: Site, tmp_path: Path) -> None:
    path = fetch_image(C6, folder=tmp_path, address=site.address).path
    path.write_bytes(whole_image("esp32c6", seed=2))
    with pytest.raises(ImageError, match=rf"Remove .*{NAME}"):
        fetch_image(C6, folder=tmp_path, address=site.address)


def test_a_file_of_another_chip_is_refused(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(whole_image("esp32c3"))
    with pytest.raises(WrongChip, match="for an ESP32-C3, and not for an ESP32-C6"):
        fetch_image(C6, folder=tmp_path)


def refused(tmp_path: Path, address: str) -> str:
    """What is said, in one line, where no image comes; nothing is kept."""
    with pytest.raises(FetchError) as error:
        fetch_image(C6, folder=tmp_path, address=address)
    assert names(tmp_path) == []
    assert "\n" not in str(error.value)
    return str(error.value)


def test_without_a_network_it_is_said_what_to_put_where(site: Site, tmp_path: Path) -> None:
    site.server.shutdown()
    site.server.socket.close()
    said = refused(tmp_path, site.address)
    for part in (NAME, "https://micropython.org/download/ESP32_GENERIC_C6/", str(tmp_path), "--image"):
        assert part in said


def test_an_image_that_is_not_there_is_said(site: Site, tmp_path: Path) -> None:
    site.files.clear()
    assert "404" in refused(tmp_path, site.address)


def test_half_an_image_is_not_kept(site: Site, tmp_path: Path) -> None:
    site.cut = 1000
    assert f"{len(IMAGE) - 1000} of {len(IMAGE)} bytes" in refused(tmp_path, site.address)


def test_a_page_in_its_place_is_not_kept(site: Site, tmp_path: Path) -> None:
    site.files[f"/firmware/{NAME}"] = b"<html>Please log in to this network</html>"
    with pytest.raises(ImageError, match="no image for an ESP32"):
        fetch_image(C6, folder=tmp_path, address=site.address)
    assert names(tmp_path) == []


def test_a_way_from_one_scheme_to_another_is_not_followed(site: Site, tmp_path: Path) -> None:
    site.moved[f"/firmware/{NAME}"] = f"ftp://127.0.0.1/{NAME}"
    assert "302" in refused(tmp_path, site.address)
    site.moved[f"/firmware/{NAME}"] = f"/elsewhere/{NAME}"
    site.files[f"/elsewhere/{NAME}"] = IMAGE
    assert fetch_image(C6, folder=tmp_path, address=site.address).loaded


def test_the_cache_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "dcka" / "firmware"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert (tmp_path / "home") in cache_folder().parents

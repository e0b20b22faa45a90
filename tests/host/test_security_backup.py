"""Backup and restore: back comes what was put in, or nothing changes."""

import io
import json
import stat
import tarfile

import pytest

from dcka.broker.folder import BrokerFolder
from dcka.config import State, load, template
from dcka.errors import UsageError
from dcka.security.archive import BackupError, read
from dcka.security.backup import Places, backup, places_of, restore
from dcka.security.setup import Wishes, init


@pytest.fixture
def places(tmp_path) -> Places:
    """A network with a broker and some state."""
    home = tmp_path / "home"
    home.mkdir()
    file = home / "network.toml"
    file.write_text(template({"network": {"nodes": 3, "name": "attic"}, "topology": {"kind": "line"}}))
    config = load(file)
    state = State.beside(file)
    state.write(state.run(1), {"run": 1})
    state.write(state.folder / "broker.json", {"v": 1, "url": "mqtt://127.0.0.1:1", "pid": 1})
    init(config, BrokerFolder.beside(file), Wishes(names=("b.local",)))
    return places_of(config, state, BrokerFolder.beside(file))


def _tree(places: Places) -> dict[str, bytes]:
    home = places.network.parent
    return {
        str(path.relative_to(home)): path.read_bytes()
        for path in sorted(home.rglob("*"))
        if path.is_file() and path != places.state / "broker.json"
    }


def _elsewhere(tmp_path) -> Places:
    home = tmp_path / "other"
    return Places(home / "network.toml", home / ".dcka", home / "broker")


@pytest.fixture
def file(places, tmp_path):
    made = tmp_path / "kept.tgz"
    backup(load(places.network), places, made)
    return made


def test_back_comes_what_was_put_in(places, file, tmp_path):
    there = _elsewhere(tmp_path)
    contents = restore(file, there)
    assert _tree(there) == _tree(places)
    assert (contents.network, contents.parts) == ("attic", ["network.toml", "state", "broker"])
    assert load(there.network).ids == (1, 2, 3)
    secret = BrokerFolder(there.broker)
    for path in (secret.authority_key, secret.key, *secret.secrets.iterdir()):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(secret.path.stat().st_mode) == 0o700
    assert not list(there.network.parent.glob(".dcka-restore-*"))


def test_the_file_is_for_its_owner_alone_and_not_overwritten(places, file):
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.read_bytes()
    with pytest.raises(UsageError, match=r"kept\.tgz is there already: overwrite it with --force"):
        backup(load(places.network), places, file)
    assert file.read_bytes() == before
    backup(load(places.network), places, file, force=True)


def test_what_only_says_who_runs_here_is_left_out(file):
    contents, _ = read(file)
    assert not {"state/broker.json", "broker/pid", "broker/broker.lock"} & contents.files.keys()
    assert "broker/broker.json" in contents.files


def test_what_is_there_is_not_overwritten_but_by_force(places, file):
    places.network.write_text(places.network.read_text() + "# changed\n")
    (places.state / "new.json").write_text("{}")
    with pytest.raises(
        UsageError, match=r"network\.toml is there already: replace it, and all else .* with --force"
    ):
        restore(file, places)
    assert places.network.read_text().endswith("# changed\n")
    restore(file, places, force=True)
    assert not places.network.read_text().endswith("# changed\n")
    assert not (places.state / "new.json").exists()  # the state is the backup's, not a mixture


def test_the_authority_that_the_network_file_names_comes_along(places, file, tmp_path):
    home = places.network.parent
    (home / "trust.pem").write_bytes((places.broker / "ca.pem").read_bytes())
    text = template(
        {
            "network": {"nodes": 3, "broker": "mqtts://b.local", "ca": "trust.pem"},
            "topology": {"kind": "line"},
        }
    )
    places.network.write_text(text)
    made = tmp_path / "named.tgz"
    backup(load(places.network), places, made)
    there = _elsewhere(tmp_path)
    restore(made, there)
    assert load(there.network).network.ca == there.network.parent / "trust.pem"


@pytest.mark.parametrize("where", [0, 5, 0.3, 0.6, 0.95])
def test_a_damaged_file_is_refused_and_nothing_changes(places, file, where):
    data = bytearray(file.read_bytes())
    place = where if isinstance(where, int) else int(where * len(data))
    data[place] ^= 0x41
    file.write_bytes(data)
    before = _tree(places)
    # Gzip's header has bytes that mean nothing; any other is found.
    if place == 5:
        restore(file, places, force=True)
        return
    with pytest.raises(BackupError, match=r"kept\.tgz"):
        restore(file, places, force=True)
    assert _tree(places) == before


@pytest.mark.parametrize("part", [0, 1, 100, 0.5, 0.99])
def test_a_file_that_was_cut_is_refused(places, file, part):
    data = file.read_bytes()
    file.write_bytes(data[: part if isinstance(part, int) else int(part * len(data))])
    before = _tree(places)
    with pytest.raises(BackupError, match=r"kept\.tgz"):
        restore(file, places, force=True)
    assert _tree(places) == before


def _rewritten(file, change) -> None:
    """The same tar, with its members (name → content) changed."""
    with tarfile.open(file) as archive:
        members = {one.name: archive.extractfile(one).read() for one in archive}
    change(members)
    with tarfile.open(file, "w:gz") as archive:
        for name, data in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))


def _with_manifest(members, change) -> None:
    manifest = json.loads(members["manifest.json"])
    change(manifest)
    members["manifest.json"] = json.dumps(manifest).encode()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (
            lambda m: m.update({"state/runs/1.json": b"{}"}),
            "is damaged: state/runs/1.json is not what was backed up",
        ),
        (lambda m: m.pop("broker/ca.pem") and None, "is damaged: broker/ca.pem is missing"),
        (lambda m: m.update({"broker/more": b""}), "is damaged: broker/more is not in its manifest"),
        (lambda m: m.update({"../evil": b""}), "'../evil' has no place in a backup"),
        (lambda m: m.update({"/etc/evil": b""}), "'/etc/evil' has no place in a backup"),
        (lambda m: m.update({"broker/../../evil": b""}), "has no place in a backup"),
        (lambda m: m.update({"elsewhere": b""}), "'elsewhere' has no place in a backup"),
        (lambda m: m.pop("manifest.json") and None, "has no manifest: it is no backup of dcka"),
        (lambda m: m.update({"manifest.json": b"{"}), "its manifest is damaged"),
        (lambda m: _with_manifest(m, lambda r: r.update(v=9)), "was written by another version of dcka"),
        (lambda m: _with_manifest(m, lambda r: r.pop("files")), "its manifest is damaged"),
    ],
)
def test_what_is_no_sound_backup_is_refused(places, file, change, words):
    _rewritten(file, change)
    before = _tree(places)
    with pytest.raises(BackupError, match=words.replace(".", r"\.").replace("'/", "'/")):
        restore(file, places, force=True)
    assert _tree(places) == before


def test_a_link_in_it_is_refused(places, file):
    with tarfile.open(file, "w:gz") as archive:
        link = tarfile.TarInfo("broker/link")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(BackupError, match="'broker/link' has no place in a backup"):
        restore(file, places, force=True)


def test_no_file_and_no_backup_are_told_apart(places, tmp_path):
    with pytest.raises(UsageError, match="there is no file"):
        restore(tmp_path / "none.tgz", places)
    other = tmp_path / "text"
    other.write_text("hello")
    with pytest.raises(BackupError, match="is no backup of dcka"):
        restore(other, places)


def test_where_a_part_cannot_take_its_place_all_is_as_it_was(places, file, monkeypatch):
    import shutil

    before = _tree(places)
    real, calls = shutil.move, []

    def move(source, target):
        calls.append(target)
        if len(calls) == 5:
            raise OSError(28, "No space left on device", str(target))
        return real(source, target)

    monkeypatch.setattr("dcka.security.backup.shutil.move", move)
    with pytest.raises(Exception, match="No space left on device; all is as it was"):
        restore(file, places, force=True)
    assert _tree(places) == before

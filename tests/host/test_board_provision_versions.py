"""A version of a board's files: its name follows from its content, and it holds no password but in node.json."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dcka.boards.installed import Facts
from dcka.boards.secrets import Secrets
from dcka.boards.transfer import digest
from dcka.boards.versions import WrongMicroPython, require_fit, wanted_version
from dcka.config import from_mapping
from dcka.errors import UsageError

SECRETS = Secrets("the wifi's secret", "the broker's secret")


def network(**changes):
    tables = {
        "network": {"name": "greenhouse", "broker": "mqtt://grower@192.168.1.10:1883"},
        "wifi": {"ssid": "greenhouse-24"},
    }
    for section, values in changes.items():
        tables[section] = {**tables.get(section, {}), **values}
    return from_mapping(tables)


def version(node=3, secrets=SECRETS, march="x64", source=False, **changes):
    return wanted_version(network(**changes), node, march, secrets, source)


@pytest.fixture(scope="module")
def plain():
    return version()


def test_the_same_wishes_give_the_same_version(plain):
    assert version() == plain


@pytest.mark.parametrize(
    "other",
    [
        {"node": 4},
        {"secrets": Secrets("another secret", "the broker's secret")},
        {"secrets": Secrets("the wifi's secret", "another secret")},
        {"march": "xtensawin"},
        {"source": True},
        {"network": {"broker": "mqtt://grower@192.168.1.11:1883"}},
        {"network": {"name": "other"}},
        {"wifi": {"ssid": "another"}},
    ],
)
def test_every_difference_is_another_folder(plain, other):
    changed = version(**other)
    assert changed.folder != plain.folder
    assert changed.main_py != plain.main_py


def test_version_json_tells_every_other_file(plain):
    record = json.loads(plain.files["version.json"])
    others = {path: digest(content) for path, content in plain.files.items() if path != "version.json"}
    version = record.pop("version")
    assert len(version) == 12 and version != plain.folder.removeprefix("fw-")
    assert record == {"v": 1, "firmware": plain.firmware, "mpy": "x64", "files": others}


def test_node_json_is_what_the_firmware_reads(plain):
    assert json.loads(plain.files["node.json"]) == {
        "v": 1,
        "network": "greenhouse",
        "node": 3,
        "broker": {"host": "192.168.1.10", "port": 1883, "user": "grower", "password": "the broker's secret"},
        "max_message": 1024,
        "keepalive": 10,
        "wifi": {"ssid": "greenhouse-24", "password": "the wifi's secret"},
        "console": True,
        "rows": {"v": 1, "run": 0, "parent": 2, "children": [], "members": 1, "near": [1, 2, 4]},
    }


def test_an_encrypted_broker_brings_its_authority(tmp_path, certificate_text):
    (tmp_path / "authority.pem").write_bytes(certificate_text)
    made = version(network={"broker": "mqtts://192.168.1.10", "ca": str(tmp_path / "authority.pem")})
    assert made.files["ca.pem"] == certificate_text
    assert json.loads(made.files["node.json"])["broker"]["ca"] == "ca.pem"
    assert json.loads(made.files["node.json"])["broker"]["port"] == 8883


@pytest.fixture(scope="module")
def certificate_text():
    """A self-signed certificate, as PEM."""
    import datetime

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "an authority")])
    begin = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    builder = x509.CertificateBuilder(
        name, name, key.public_key(), 1, begin, begin + datetime.timedelta(days=9)
    )
    return builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)


def test_main_py_starts_the_folder_and_boot_py_is_as_it_is(plain):
    lines = plain.main_py.decode().splitlines()
    assert [line for line in lines if line.startswith("FIRMWARE")] == [f'FIRMWARE = "/{plain.folder}"']
    assert plain.tree()["/boot.py"] == plain.boot_py
    assert plain.tree()[f"/{plain.folder}/node.json"] == plain.files["node.json"]
    assert "/data.bin" not in plain.tree()


def test_an_image_may_hold_the_data():
    made = wanted_version(network(), 1, None, SECRETS, data=b"points")
    assert made.tree()["/data.bin"] == b"points"
    assert made.mpy == "none"


def test_sources_stay_sources():
    made = version(source=True)
    assert not [path for path in made.files if path.endswith(".mpy")]
    assert "dcka_core/node.py" in made.files


def test_no_secret_is_in_what_people_see(plain):
    shown = (
        repr(plain)
        + repr(SECRETS)
        + plain.folder
        + plain.main_py.decode()
        + plain.files["version.json"].decode()
    )
    assert "secret" not in shown


@given(st.text(min_size=8, max_size=20), st.text(min_size=8, max_size=20))
def test_secrets_never_show(wifi, broker):
    assert repr(Secrets(wifi, broker)) == "Secrets()"


def test_a_node_that_is_none_and_a_broker_that_nobody_reaches_are_refused():
    with pytest.raises(UsageError, match="node 6 is not in the network"):
        version(node=6)
    with pytest.raises(UsageError, match="embedded"):
        version(network={"broker": "embedded"})


def facts(version=(1, 29, 0), mpy=10 << 10 | 3 << 8 | 6, march="xtensawin"):
    return Facts(version, "an ESP32", mpy, march, None, 0, 0)


def test_a_board_like_ours_fits():
    require_fit("/dev/x", facts())
    require_fit("/dev/x", facts(mpy=3 << 8 | 6, march=None))


@pytest.mark.parametrize(
    "board, words",
    [
        (facts(version=(1, 22, 2)), "has MicroPython 1.22.2, and dcka needs 1.23 or newer: flash"),
        (facts(mpy=10 << 10 | 2 << 8 | 6), "of version 6.2, and dcka's compiler makes 6.3: flash"),
        (facts(mpy=10 << 10 | 3 << 8 | 7), "of version 7.3, and dcka's compiler makes 6.3: flash"),
        (facts(mpy=0, march=None), "of version none"),
    ],
)
def test_another_micropython_is_refused_with_both_versions(board, words):
    with pytest.raises(WrongMicroPython, match=words):
        require_fit("/dev/x", board)


def test_sources_need_no_mpy_version():
    require_fit("/dev/x", facts(mpy=0, march=None), source=True)
    with pytest.raises(WrongMicroPython, match=r"1\.23"):
        require_fit("/dev/x", facts(version=(1, 20, 0)), source=True)

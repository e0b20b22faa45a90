"""[network] ca: the file is found beside network.toml, and one that is of no use is refused with the reason."""

from pathlib import Path

import pytest
from certificates import Authority

from dcka.broker import BrokerUrl
from dcka.config import State, load
from dcka.errors import UsageError
from dcka.mqtt.address import broker_of

ENCRYPTED = '[network]\nbroker = "mqtts://anna@broker.local"\nca = "ca.pem"\n'


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return Authority(tmp_path_factory.mktemp("ca"), "ours").certificate.read_bytes()


def write(folder: Path, ca: bytes | None, text: str = ENCRYPTED) -> Path:
    file = folder / "network.toml"
    file.write_text(text)
    if ca is not None:
        (folder / "ca.pem").write_bytes(ca)
    return file


def refusal(file: Path) -> str:
    with pytest.raises(UsageError) as caught:
        load(file)
    assert "\n" not in str(caught.value)
    return str(caught.value).replace(f"{file.parent}/", "")


def test_the_file_is_beside_network_toml_and_the_broker_knows_it(
    tmp_path: Path, authority: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "nets").mkdir()
    write(tmp_path / "nets", authority)
    monkeypatch.chdir(tmp_path)
    config = load(Path("nets/network.toml"))
    found = Path("nets/ca.pem")
    assert config.network.ca == found
    assert config.network.broker == BrokerUrl("broker.local", 8883, "anna", tls=True, ca=found)
    # Once more through `replaced`, as an option does it.
    assert config.replaced("run", None, k=3).network == config.network
    other = config.replaced("network", broker="mqtts://other:1").network.broker
    assert other == BrokerUrl("other", 1, tls=True, ca=found)


def test_a_broker_of_the_command_line_is_verified_by_it_too_and_a_plain_one_goes_without(
    tmp_path: Path, authority: bytes
) -> None:
    config = load(write(tmp_path, authority))
    state = State(tmp_path / ".dcka")
    assert broker_of(config, state, "mqtts://h").ca == tmp_path / "ca.pem"
    assert broker_of(config, state, "mqtt://h") == BrokerUrl("h")
    assert config.replaced("network", broker="mqtt://h").network.broker == BrokerUrl("h")


def test_without_a_ca_the_system_is_trusted(tmp_path: Path) -> None:
    broker = load(write(tmp_path, None, '[network]\nbroker = "mqtts://h"\n')).network.broker
    assert broker == BrokerUrl("h", 8883, tls=True, ca=None)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    assert refusal(write(tmp_path, None)) == (
        "network.toml, line 3: [network] ca: ca.pem cannot be read: No such file or directory"
    )


def test_a_folder(tmp_path: Path) -> None:
    (tmp_path / "ca.pem").mkdir()
    assert "ca.pem cannot be read: Is a directory" in refusal(write(tmp_path, None))


@pytest.mark.parametrize(
    "content", [b"", b"hello\n", b"\x30\x82\x01\x00binary", b"-----BEGIN CERTIFICATE-----\n"]
)
def test_what_is_no_certificate(tmp_path: Path, content: bytes) -> None:
    message = refusal(write(tmp_path, content))
    assert message.startswith("network.toml, line 3: [network] ca: ca.pem holds no certificate in PEM form (")


def test_a_damaged_certificate(tmp_path: Path, authority: bytes) -> None:
    lines = authority.splitlines(keepends=True)
    del lines[3]
    assert "ca.pem holds no certificate in PEM form" in refusal(write(tmp_path, b"".join(lines)))


def test_a_private_key_must_not_reach_the_nodes(tmp_path: Path, authority: bytes) -> None:
    pair = Authority(tmp_path, "theirs").server("s")
    message = refusal(write(tmp_path, authority + pair.key.read_bytes()))
    assert "ca.pem holds a private key, which nodes must not get" in message


def test_a_node_has_no_room_for_a_systems_collection(tmp_path: Path) -> None:
    many = b"".join(Authority(tmp_path, f"a{number}").certificate.read_bytes() for number in range(5))
    assert "ca.pem holds 5 certificates; a node has room for 4" in refusal(write(tmp_path, many))


def test_a_ca_for_a_connection_that_is_not_encrypted_is_a_mistake(tmp_path: Path, authority: bytes) -> None:
    message = refusal(write(tmp_path, authority, '[network]\nbroker = "mqtt://h"\nca = "ca.pem"\n'))
    assert message == (
        "network.toml, line 3: [network] ca is there, but the connection to mqtt://h:1883 is not encrypted;"
        " write mqtts:// if it shall be, or remove ca"
    )

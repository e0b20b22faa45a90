"""`dcka broker init` and `renew`: what lies in the folder, for whom, and what stays when it is called again."""

import json
import ssl
import stat
from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509

from dcka.broker.access import HOST
from dcka.broker.folder import BrokerFolder, door, read_doors, require_doors, with_credentials
from dcka.broker.url import parse_broker_url
from dcka.config import Config, from_mapping
from dcka.errors import UsageError
from dcka.security.authority import AuthorityError, ends, general_name, read_authority
from dcka.security.server import certificate_note, require_valid
from dcka.security.setup import Made, Wishes, init, renew, rights_of

NAMES = Wishes(names=("broker.local", "192.0.2.7"))
NOW = datetime.now(UTC)


def network(nodes: object = 3, name: str = "attic") -> Config:
    return from_mapping({"network": {"nodes": nodes, "name": name}, "topology": {"kind": "line"}})


@pytest.fixture
def folder(tmp_path) -> BrokerFolder:
    return BrokerFolder(tmp_path / "broker")


@pytest.fixture
def made(folder) -> Made:
    return init(network(), folder, NAMES)


def _mode(path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_secrets_are_for_their_owner_alone(folder, made):
    secret = [folder.authority_key, folder.key, *folder.secrets.iterdir()]
    secret += [folder.path / name for name in ("mosquitto.conf", "acl", "passwords-nodes", "passwords-host")]
    assert len(secret) == 2 + 5 + 4
    assert {_mode(path) for path in secret} == {0o600}
    assert {
        _mode(path) for path in (folder.path, folder.secrets, folder.store, folder.authority_key.parent)
    } == {0o700}
    assert (folder.path / ".gitignore").read_text().endswith("*\n")


def test_every_node_and_role_has_a_password_of_its_own(folder, made):
    assert made.new_users == ("host", "monitor", "n1", "n2", "n3")
    passwords = {file.name: file.read_text().strip() for file in folder.secrets.iterdir()}
    assert set(passwords) == set(made.new_users)
    assert len(set(passwords.values())) == 5
    everything = [path for path in folder.path.rglob("*") if path.is_file() and path.parent != folder.secrets]
    assert not any(password in path.read_text() for path in everything for password in passwords.values())


def test_the_certificate_is_for_the_names_given_and_for_this_computer(folder, made):
    certificate = x509.load_pem_x509_certificate(folder.certificate.read_bytes())
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["broker.local", "localhost"]
    assert [str(one) for one in names.get_values_for_type(x509.IPAddress)] == ["192.0.2.7", "127.0.0.1"]
    authority = x509.load_pem_x509_certificate(folder.ca.read_bytes())
    certificate.verify_directly_issued_by(authority)
    assert certificate.not_valid_after_utc - NOW < timedelta(days=366)
    assert made.doors.address == "broker.local"
    ssl.create_default_context(cafile=folder.ca)  # OpenSSL takes it


def test_called_again_it_keeps_authority_certificate_and_passwords(folder, made):
    def state() -> dict[str, bytes]:
        files = [folder.ca, folder.authority_key, folder.certificate, folder.key, *folder.secrets.iterdir()]
        return {str(path): path.read_bytes() for path in files}

    before = state()
    again = init(network(), folder, Wishes())
    assert state() == before
    assert (again.new_users, again.dropped, again.new_authority) == ((), (), False)
    assert again.doors == made.doors


def test_it_follows_the_network_file(folder, made):
    one = folder.secret("n1").read_text()
    changed = init(network([1, 4]), folder, Wishes())
    assert changed.new_users == ("n4",)
    assert changed.dropped == ("n2", "n3")
    assert folder.secret("n1").read_text() == one
    assert "user n4" in (folder.path / "acl").read_text()
    assert "user n2" not in (folder.path / "acl").read_text()
    assert (folder.path / "passwords-nodes").read_text().count("\n") == 2


def test_other_names_need_a_new_certificate_of_the_same_authority(folder, made):
    authority, before = folder.ca.read_bytes(), folder.certificate.read_bytes()
    changed = init(network(), folder, Wishes(names=("other.local",)))
    assert changed.doors.names == ("other.local", "localhost", "127.0.0.1")
    assert folder.ca.read_bytes() == authority
    assert folder.certificate.read_bytes() != before


def test_renewal_keeps_the_authority_and_the_names(folder, made):
    authority, key = folder.ca.read_bytes(), folder.key.read_bytes()
    doors, until = renew(folder, made.doors, 30, ["more.local"])
    assert folder.ca.read_bytes() == authority
    assert folder.key.read_bytes() != key
    assert doors.names == (*made.doors.names, "more.local")
    assert read_doors(folder) == doors
    assert until == ends(folder.certificate)
    assert timedelta(days=29) < until - NOW < timedelta(days=31)
    x509.load_pem_x509_certificate(folder.certificate.read_bytes()).verify_directly_issued_by(
        x509.load_pem_x509_certificate(authority)
    )


def test_no_certificate_outlives_its_authority(folder, made):
    _, until = renew(folder, made.doors, 3650 * 2)
    assert until == ends(folder.ca)


def test_a_new_authority_is_made_when_it_is_asked_for(folder, made):
    before = folder.ca.read_bytes()
    assert init(network(), folder, Wishes(new_authority=True)).new_authority
    assert folder.ca.read_bytes() != before
    read_authority(folder.ca, folder.authority_key)


def test_who_signs_may_be_kept_elsewhere(folder, made, tmp_path):
    elsewhere = tmp_path / "stick.key"
    folder.authority_key.rename(elsewhere)
    with pytest.raises(
        AuthorityError, match=r"ca\.key cannot be read .*: if it is elsewhere, give --authority FILE"
    ):
        renew(folder, made.doors, 30)
    renew(folder, made.doors, 30, authority=elsewhere)
    init(network(), folder, Wishes())  # nothing has to be signed


def test_a_key_that_is_not_the_authoritys_is_refused(folder, made):
    with pytest.raises(AuthorityError, match=r"broker\.key is not the key of the authority in"):
        read_authority(folder.ca, folder.key)
    with pytest.raises(AuthorityError, match=r"holds no private key"):
        read_authority(folder.ca, folder.ca)
    with pytest.raises(AuthorityError, match=r"holds no certificate in PEM form"):
        read_authority(folder.key, folder.key)


def test_an_expired_certificate_is_refused_and_one_that_ends_soon_is_told(folder):
    init(network(), folder, NAMES, now=NOW - timedelta(days=400))
    with pytest.raises(UsageError, match=r"expired on \d{4}-\d\d-\d\d: dcka broker renew"):
        require_valid(folder)
    doors, _ = renew(folder, require_doors(folder), 10)
    assert "expires on" in (certificate_note(folder) or "")
    renew(folder, doors, 90)
    assert certificate_note(folder) is None


def test_an_authority_that_has_expired_signs_nothing(folder):
    init(network(), folder, NAMES, now=NOW - timedelta(days=3700))
    with pytest.raises(AuthorityError, match="has expired: dcka broker init --new-authority makes another"):
        renew(folder, require_doors(folder), 10)


@pytest.mark.parametrize("name", ["", "a b", "x..y", "-" * 64, "https://h", "ü.local", "h:8883"])
def test_what_is_no_name_is_refused(folder, name):
    with pytest.raises(ValueError, match="is neither a host's name nor an address"):
        general_name(name)
    with pytest.raises(UsageError, match="--name "):
        init(network(), folder, Wishes(names=(name,)))
    assert not folder.path.exists()


def test_other_refusals(folder, made):
    with pytest.raises(
        UsageError, match="is the broker of network attic, not of cellar: name another folder"
    ):
        init(network(name="cellar"), folder, Wishes())
    with pytest.raises(UsageError, match="port 7000 is for nodes: host and monitor need another"):
        init(network(), folder, Wishes(port=7000, host_port=7000))
    with pytest.raises(UsageError, match="--bind nonsense: that is no address of this computer"):
        init(network(), folder, Wishes(bind=("nonsense",)))
    with pytest.raises(UsageError, match="there is no port 65536"):
        init(network(), folder, Wishes(port=65535))


@pytest.mark.parametrize(
    "content", ["", "[]", "{}", '{"v": 1}', '{"v": 2}', '{"v": 1, "engine": 3, "names": 7}']
)
def test_a_damaged_record_is_told(folder, made, content):
    folder.record.write_text(content)
    with pytest.raises(UsageError, match=r"broker\.json is .*: write it .*dcka broker init"):
        read_doors(folder)


def test_where_there_is_none_the_way_to_one_is_said(tmp_path):
    assert read_doors(BrokerFolder(tmp_path)) is None
    with pytest.raises(
        UsageError, match=r"there is no broker with passwords in .*: make one with dcka broker init"
    ):
        require_doors(BrokerFolder(tmp_path))


def test_a_node_that_was_removed_has_no_rights_and_nobody_hears_it(folder, made):
    record = json.loads(folder.record.read_text())
    folder.record.write_text(json.dumps({**record, "removed": [2]}))
    rights = rights_of(network(), require_doors(folder))
    assert [one.node for one in rights] == [None, None, 1, 3]
    assert not any("x/+/2" in topic for one in rights for topic in one.read)


def test_a_door_is_a_way_in_for_its_role_and_for_nodes(folder, made):
    url = door(folder, made.doors)
    assert str(url) == "mqtts://host@broker.local:8884"
    assert url.password == folder.secret("host").read_text().strip()
    assert url.password not in repr(url)
    assert url.for_node(2) == {
        "host": "broker.local",
        "port": 8883,
        "user": "n2",
        "password": folder.secret("n2").read_text().strip(),
        "ca": "ca.pem",
    }
    assert "user" not in url.for_node()
    with pytest.raises(UsageError, match="n9 cannot be read"):
        url.for_node(9)


def test_passwords_go_to_the_folders_own_broker_alone(folder, made, tmp_path):
    def way(text: str, **more: object):
        from dataclasses import replace

        return with_credentials(replace(parse_broker_url(text, {}), **more), folder, HOST)

    assert way("mqtts://broker.local").username == "host"
    assert way("mqtts://broker.local").port == 8884
    assert way("mqtts://elsewhere:8884").ca == folder.ca  # only who has its certificate gets the password
    other = tmp_path / "other.pem"
    other.write_text("another authority")
    for url in (
        way("mqtt://broker.local:8883"),
        way("mqtts://anna@broker.local"),
        way("mqtts://broker.local:9999"),
    ):
        assert url.secrets is None
        assert url.password is None
    assert way("mqtts://broker.local", ca=other).secrets is None


def test_a_secret_that_others_may_read_is_refused(folder, made):
    folder.secret("host").chmod(0o644)
    with pytest.raises(UsageError, match="can be read by others than its owner: chmod 600"):
        door(folder, made.doors)

"""Random passwords, and their hashes in the form of mosquitto's password file."""

import base64
import hashlib
import hmac
import secrets

# mosquitto's own number. Stretching protects passwords that people choose; against 192 random bits there is nothing to
# try, and the broker, which has one thread, would hash for each of a thousand nodes that come back at once.
ITERATIONS = 101
_SALT_BYTES = 12
_RANDOM_BYTES = 24


def new_password() -> str:
    """192 random bits, in 32 letters, digits, `-` and `_`."""
    return secrets.token_urlsafe(_RANDOM_BYTES)


def mosquitto_hash(password: str, salt: bytes | None = None) -> str:
    """PBKDF2 with HMAC-SHA-512, as mosquitto 2 reads it: `$7$iterations$salt$hash`.

    By hashlib and not by `mosquitto_passwd`: that one takes passwords on its command line, where others see them,
    and has to be installed where the files are made.
    """
    salt = secrets.token_bytes(_SALT_BYTES) if salt is None else salt
    key = hashlib.pbkdf2_hmac("sha512", password.encode(), salt, ITERATIONS)
    return f"$7${ITERATIONS}${base64.b64encode(salt).decode()}${base64.b64encode(key).decode()}"


def fits(password: str, line: str) -> bool:
    """Whether a hash as above is that of the password."""
    _, kind, iterations, salt, wanted = line.split("$")
    if kind != "7":
        return False
    key = hashlib.pbkdf2_hmac("sha512", password.encode(), base64.b64decode(salt), int(iterations))
    return hmac.compare_digest(key, base64.b64decode(wanted))

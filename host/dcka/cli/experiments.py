"""What the verbs of the paper's experiments share."""

from importlib.util import find_spec

from dcka.errors import UsageError


def require(*modules: str) -> None:
    """Raises UsageError where a library of the extra `experiments`, no part of a plain installation, is missing."""
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        raise UsageError(
            f"{', '.join(missing)} is not installed: the experiments need more than the rest; "
            f"pip install 'dcka[experiments]' brings it"
        )

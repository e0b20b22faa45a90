"""dcka: distributed K-means for sensor networks.

`dcka.DCKA`: the network as a scikit-learn estimator. `dcka.results`: what runs have left (docs/python.md). Both are
loaded when they are first asked for, so that `import dcka` loads nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import dcka.results as results
    from dcka.estimator import DCKA

__all__ = ["DCKA", "__version__", "results"]
__version__ = "0.1.0"


def __getattr__(name: str) -> Any:
    """PEP 562. Raises ImportError, with what to install, for `DCKA` without scikit-learn."""
    if name == "results":
        return import_module("dcka.results")
    if name != "DCKA":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return import_module("dcka.estimator").DCKA
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != "sklearn":
            raise
        raise ImportError(
            "dcka.DCKA needs scikit-learn, which is not installed: pip install 'dcka[estimator]'",
            name=error.name,
        ) from None


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

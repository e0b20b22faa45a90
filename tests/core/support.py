"""What the core's tests share. It runs wherever they do: CPython, MicroPython, MicroPython in WebAssembly.

A core test is a function `test_...()` without arguments in `tests/core/test_*.py`, with bare asserts, and
imports only `dcka_core`, this module and what MicroPython has. Many cases: a loop, with the case in the
assert's message. `test_interpreters.py` runs the same files on each interpreter.
"""

try:
    from unittest import SkipTest
except ImportError:  # MicroPython has no unittest

    class SkipTest(Exception):
        """A test that has nothing to say on this interpreter."""


def raises(expected, function, *args, **kwargs):
    """Call `function`, which has to raise `expected`; returns the exception, so that its text can be tested.

    Another exception passes through. Raises AssertionError where none comes.
    """
    try:
        outcome = function(*args, **kwargs)
    except expected as error:
        return error
    raise AssertionError("%s did not come; the call returned %r" % (expected.__name__, outcome))


def skip(reason):
    """End the test here, for a reason that people can read: say, that this interpreter has no viper."""
    raise SkipTest(reason)


def vector_path(name):
    """The path of `tests/vectors/<name>`, on every interpreter."""
    return __file__.rsplit("/", 2)[0] + "/vectors/" + name

"""Names that every MicroPython has in its ROM: taking one of them costs a node nothing.

They belong to the format of .mpy files, version 6, which name them by number; so all boards and desktops have them. The
build gives them to whatever is not called so elsewhere in the program. Without those that mean something to the
compiler (`super`, `const`, `locals`).
"""

WORDS = tuple(
    """
    all any args callable chr classmethod clear copy divmod endswith find format getattr hash index insert isalpha
    isdigit islower isspace issubclass isupper items join key lower lstrip ord popitem pow readline remove replace repr
    reverse rfind rindex round rsplit rstrip setattr setdefault sort sorted staticmethod step stop strip upper values
    zip
    ArithmeticError AssertionError AttributeError BaseException EOFError Ellipsis GeneratorExit ImportError
    IndentationError IndexError KeyError KeyboardInterrupt NameError NotImplementedError OverflowError RuntimeError
    StopIteration SyntaxError SystemExit TypeError ZeroDivisionError
    """.split()  # noqa: SIM905
)

"""Run core test modules on whatever interpreter this is: `run_suite.py FIRMWARE TESTS MODULE...`.

FIRMWARE is the folder that holds `dcka_core`, TESTS the one of the modules. Each test gets a line, a failing
one its traceback; the last line is one JSON object: `passed`, `failed` and `skipped`, lists of
`module.test`, and `implementation` and `maxsize` of the interpreter. Exit code 1 if a test failed or none
passed.
"""

import json
import sys

FOLDER = __file__.rsplit("/", 1)[0] if "/" in __file__ else "."


def show(error):
    """The traceback, on stdout, in order with the other lines."""
    if hasattr(sys, "print_exception"):
        sys.print_exception(error)
    else:
        import traceback

        traceback.print_exception(error, file=sys.stdout)


def run_one(name, test, tail):
    """Run one test, print its line, enter it into `tail`."""
    from support import SkipTest

    try:
        test()
    except SkipTest as error:
        print("skip", name, error)
        tail["skipped"].append(name)
    except Exception as error:
        print("FAIL", name)
        show(error)
        tail["failed"].append(name)
    else:
        print("ok  ", name)
        tail["passed"].append(name)


def run_module(module_name, tail):
    """Import a test module and run its tests by name; an import that fails counts as a failed test."""
    try:
        module = __import__(module_name)
    except Exception as error:
        print("FAIL", module_name, "cannot be imported")
        show(error)
        tail["failed"].append(module_name)
        return
    for name in sorted(dir(module)):
        test = getattr(module, name)
        if name.startswith("test_") and callable(test):
            run_one(module_name + "." + name, test, tail)


def main(arguments):
    """`arguments` without the script's name; returns the exit code."""
    firmware, tests = arguments[:2]
    # Nothing of the user's own: MicroPython also looks into ~/.micropython/lib.
    sys.path[:] = [tests, FOLDER, firmware] + [
        entry for entry in sys.path[1:] if "micropython/lib" not in entry
    ]
    tail = {"passed": [], "failed": [], "skipped": []}
    for module_name in arguments[2:]:
        run_module(module_name, tail)
    tail["implementation"] = sys.implementation.name
    tail["maxsize"] = sys.maxsize
    print(json.dumps(tail))
    return 1 if tail["failed"] or not tail["passed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

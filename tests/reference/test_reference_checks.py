"""The check of a step, and that the reference leans on nothing but numpy."""

import ast
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import dcka.reference
from dcka.reference import check_step, gossip_tolerance


def test_the_largest_error_by_hand() -> None:
    # ratios 16/3 and 4/3, then 5/2 and 2; the last cluster is empty
    inputs = [[[2, 10, 3], [2, 5, 4], [0, 0, 0]], [[1, 6, 1], [0, 0, 0], [0, 0, 0]]]
    centres = [[[5, 1], [3, 2], [9, 9]], [[5, 3], [2, 2], [0, 0]]]
    found = check_step(inputs, centres, Fraction(5, 3))
    assert (found.error, found.within, found.worst) == (Fraction(5, 3), True, (1, 0, 1))
    assert not check_step(inputs, centres, Fraction(5, 3) - Fraction(1, 10**9)).within
    assert check_step([inputs[1], inputs[0]], [centres[0], centres[0]], 1).error == Fraction(1, 2)


def test_without_mass_there_is_nothing_to_be_off() -> None:
    found = check_step(np.zeros((2, 1, 2), dtype=int), [[[3]], [[4]]], 0)
    assert (found.error, found.within, found.worst) == (Fraction(0), True, None)


def test_shapes_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="do not fit"):
        check_step(np.zeros((2, 1, 2)), np.zeros((2, 1, 2)), 0)


def test_the_tolerance_has_room_for_the_rounding() -> None:
    assert gossip_tolerance(255) == Fraction(3, 2)


def test_the_reference_imports_numpy_and_the_standard_library_alone() -> None:
    (folder,) = map(Path, dcka.reference.__path__)
    files = sorted(folder.glob("*.py"))
    assert len(files) > 5
    for file in files:
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                assert node.level == 0
                names = [node.module or ""]
            else:
                continue
            for name in names:
                allowed = name.startswith("dcka.reference.") or name.split(".")[0] in {
                    "numpy",
                    *sys.stdlib_module_names,
                }
                assert allowed, f"{file.name} imports {name}"


def test_all_that_is_exported_is_there() -> None:
    assert [name for name in dcka.reference.__all__ if not hasattr(dcka.reference, name)] == []

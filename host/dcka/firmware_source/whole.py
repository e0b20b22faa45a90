"""A whole program made small: only its outcome is the same, and nobody outside may know its inner names."""

import ast
import itertools
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from dcka.firmware_source.bundles import entries, joined, members
from dcka.firmware_source.calls import simplify_calls
from dcka.firmware_source.constants import function_symbols, put_constants
from dcka.firmware_source.folding import fold
from dcka.firmware_source.inlining import inline_once
from dcka.firmware_source.layers import home_of, merge_layers
from dcka.firmware_source.names import Namer, Naming, families, rename
from dcka.firmware_source.outside import (
    asked_by_name,
    booted_modules,
    booted_words,
    foreign_attributes,
    texts_as_names,
)
from dcka.firmware_source.reading import has_machine_code
from dcka.firmware_source.rom import WORDS
from dcka.firmware_source.symbols import resolve
from dcka.firmware_source.syntax import FUNCTIONS, Program, loaded, walk
from dcka.firmware_source.unused import drop_unused

_ROUNDS = 100
"""More than any program takes until nothing is left to do."""


@dataclass(frozen=True)
class Whole:
    """`texts`: module → what is compiled; a module that became part of another is not in it.

    `names`: module → {name in the build: what it was}: `module:function`, `module:.method`, `name` of what is global,
    `.attribute`; where one name stands for several, slashes between them, functions first.
    """

    texts: dict[str, str]
    names: dict[str, dict[str, str]]


def make_small(
    sources: Mapping[str, ast.Module], booted: Collection[str], by_name: Collection[str] = ()
) -> Whole:
    """Make a program of modules small. sources: module → tree (they are changed). booted: the texts that start it.
    by_name: modules that are asked for with a text, though others import them too.

    What is booted imports by name what it needs; other modules may be
    asked for with a text (`__import__`), and their globals as attributes, which stay then.
    """
    machine_code = {module: tree for module, tree in sources.items() if has_machine_code(tree)}
    trees = Program({module: tree for module, tree in sources.items() if module not in machine_code})
    edges = {edge for edge in resolve(trees) if edge[1] in trees}
    first = booted_modules(booted, trees)
    trees.forget()
    asked = entries(trees, edges, [*first, *by_name])
    words_outside = booted_words(booted)
    fixed = asked_by_name(trees, first, words_outside)
    # Of others somebody may have the module itself; its globals are attributes then.
    fixed |= asked_by_name(trees, [entry for entry in asked if entry not in first], loaded(trees)[1])
    fixed |= {symbol.partition(":")[2] for symbol in fixed}
    fixed |= words_outside | foreign_attributes(trees) | texts_as_names(trees)
    merge_layers(trees)
    trees.forget()
    _optimise(trees, fixed)
    resident = _most_needed(asked, edges)
    parts = members(trees, edges, asked, resident) if asked else {}
    homes = {module: entry for entry, one in parts.items() for module in one}
    bundles = Program({entry: joined(trees, entry, one, homes) for entry, one in parts.items()})
    naming = Namer(bundles, resident, fixed, WORDS).naming
    told = _told(bundles, naming)
    rename(bundles, naming)
    texts = {entry: ast.unparse(tree) + "\n" for entry, tree in bundles.items()}
    texts |= {module: ast.unparse(tree) + "\n" for module, tree in machine_code.items()}
    return Whole(texts, told)


def _most_needed(asked: list[str], edges: Collection[tuple[str, str]]) -> str:
    """The entry that loads most of the others' modules: the one that is always there."""
    reach = {entry: len(_reached(entry, edges)) for entry in asked}
    return max(asked, key=lambda entry: reach[entry]) if asked else ""


def _reached(entry: str, edges: Collection[tuple[str, str]]) -> set[str]:
    found = {entry}
    while True:
        more = {to for start, to in edges if start in found} - found
        if not more:
            return found
        found |= more


def _optimise(trees: Program, fixed: set[str]) -> None:
    """Step after step, until none finds anything."""
    functions: set[str] = set()
    numbers = itertools.count()

    def fold_all() -> bool:
        before = {module: ast.dump(tree) for module, tree in trees.items()}
        for tree in trees.values():
            fold(tree, functions)
        return before != {module: ast.dump(tree) for module, tree in trees.items()}

    steps: list[Callable[[], bool]] = [
        lambda: put_constants(trees, fixed, functions),
        lambda: simplify_calls(trees, fixed, functions),
        fold_all,
        lambda: drop_unused(trees, fixed),
    ]
    for _ in range(_ROUNDS):
        trees.forget()
        functions = function_symbols(trees)
        changed = False
        for step in steps:
            changed |= step()
            trees.forget()
        if not changed and not inline_once(trees, fixed, numbers):
            return


def _told(bundles: Mapping[str, ast.Module], naming: Naming) -> dict[str, dict[str, str]]:
    """`Whole.names`, from the trees before they are renamed."""
    family_of = families(bundles)
    told = {}
    for entry, tree in bundles.items():
        here: dict[str, list[str]] = {}
        for line in tree.body:
            if isinstance(line, FUNCTIONS):
                here.setdefault(naming.globals[line.name], []).append(line.name)
        for owner in walk(tree, ast.ClassDef):
            for inner in (line for line in owner.body if isinstance(line, FUNCTIONS)):
                short = naming.attribute(family_of[owner.name], inner.name)
                here.setdefault(short, []).append(f"{home_of(inner, owner)}:.{inner.name}")
        for symbol in loaded({entry: tree})[0] & naming.globals.keys():
            here.setdefault(naming.globals[symbol], []).append(symbol.partition(":")[2])
        used = {node.attr for node in walk(tree, ast.Attribute)}
        for (_, name), short in naming.attributes.items():
            if name in used:
                here.setdefault(short, []).append("." + name)
        for word in used & here.keys():
            here[word].append("." + word)
        told[entry] = {short: "/".join(_distinct(real)) for short, real in sorted(here.items())}
    return {entry: here for entry, here in told.items() if here}


def _distinct(labels: list[str]) -> list[str]:
    """In order; what is a function is not said again as a name."""
    known = {label.rpartition(":")[2] for label in labels if ":" in label}
    return [label for label in dict.fromkeys(labels) if ":" in label or label not in known]

"""Short names for all that only the program itself names; few, because MicroPython keeps each of them for ever.

A word may stand for a global here, an attribute there and a parameter somewhere else: these never meet. What could
meet does not share one: globals of modules that know each other, attributes of one family of classes; and no two
functions of one file, so that a traceback says which it was.
"""

import ast
import itertools
import string
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from dcka.firmware_source.foreign_words import (
    foreign_families,
    foreign_words,
    plain,
    said_in,
    said_in_classes,
)
from dcka.firmware_source.syntax import (
    FUNCTIONS,
    Function,
    Trees,
    bound_attributes,
    every,
    is_symbol,
    loaded,
    nodes,
    parameters,
    walk,
)

Room = tuple[str, str]

_FOREIGN: Room = ("foreign", "")
"""Where objects may have what the program does not say: no word of anything else's is used there."""


@dataclass
class Naming:
    """globals: symbol → name. attributes: (family or "", attribute) → name. places: names of parameters, in order."""

    globals: dict[str, str] = field(default_factory=dict)
    attributes: dict[tuple[str, str], str] = field(default_factory=dict)
    places: list[str] = field(default_factory=list)

    def attribute(self, family: str, name: str) -> str:
        """The name of an attribute of that family ("" for any object)."""
        return self.attributes.get((family, name)) or self.attributes.get(("", name), name)


class Namer:
    """Chooses the names, once for the whole program.

    bundles: entry → its tree. resident: the entry whose globals all others know. fixed: names and attributes that stay.
    """

    def __init__(self, bundles: Trees, resident: str, fixed: Collection[str], words: Iterable[str]) -> None:
        self._bundles = bundles
        self._resident = resident
        self._fixed = fixed
        self._families = families(bundles)
        self._outsiders = foreign_families(bundles, self._families)
        used = _identifiers(bundles)
        there = foreign_words(bundles, resident)
        usable = {*there, *(word for word in itertools.chain(words, _letters()) if word not in used)}
        self._words = [word for word in dict.fromkeys([*words, *there, *_letters()]) if word in usable]
        self._taken: dict[str, set[Room]] = {word: {_FOREIGN} for word in there}
        self._take_what_is_said()
        self.naming = Naming()
        self._choose_places()
        self._choose_attributes(shared=True)
        self._choose_globals()
        self._choose_attributes(shared=False)

    def _take_what_is_said(self) -> None:
        for entry, tree in self._bundles.items():
            for name in said_in(tree):
                self._taken.setdefault(name, set()).add(("global", entry))
        self._in_classes: dict[str, set[Room]] = {}
        for family, name in said_in_classes(self._bundles, self._families):
            self._in_classes.setdefault(name, set()).add(("attribute", family))
            self._taken.setdefault(plain(name), set()).add(("attribute", family))

    def _word(self, rooms: set[Room]) -> str:
        """The first word that is free in all these rooms."""
        for word in self._words:
            taken = self._taken.setdefault(word, set())
            if not taken & rooms:
                taken |= rooms
                return word
        raise ValueError("the program has more names than there are words")

    def _choose_places(self) -> None:
        most = max((len(_own_parameters(function)) for _, function in _outermost(self._bundles)), default=0)
        everywhere = {("global", entry) for entry in self._bundles}
        self.naming.places = [self._word(everywhere) for _ in range(most)]

    def _choose_globals(self) -> None:
        users: dict[str, set[str]] = {}
        for entry, tree in self._bundles.items():
            for symbol in loaded({entry: tree})[0]:
                users.setdefault(symbol, set()).add(entry)
        for entry in sorted(self._bundles, key=lambda entry: entry != self._resident):
            for line in self._bundles[entry].body:
                for symbol in _made_by(line):
                    if symbol in self.naming.globals:
                        continue
                    rooms = {("global", one) for one in users.get(symbol, set()) | {entry}}
                    rooms |= self._in_classes.get(symbol, set())
                    if isinstance(line, FUNCTIONS):
                        rooms.add(("function", entry))
                    stays = symbol in self._fixed or _is_exception(line)
                    self.naming.globals[symbol] = plain(symbol) if stays else self._word(rooms)

    def _choose_attributes(self, shared: bool) -> None:
        """Those that are asked of any object, or those that only `self` is asked for. First those of the resident file:
        the words that cost nothing shall be where they are always needed.

        What only `self` is ever given belongs to the families of these classes, whoever asks: others may have its word.
        """
        own = _self_only(self._bundles, self._families)
        makers = _makers(self._bundles, self._families)
        everyone = {("attribute", family) for family in self._families.values()} | {("attribute", "")}
        outsiders = {("attribute", family) for family in self._outsiders}
        methods = _methods(self._bundles)
        first = [self._bundles[entry] for entry in self._bundles if entry == self._resident]
        resident = {node.attr for tree in first for node in walk(tree, ast.Attribute)}
        chosen = sorted(
            bound_attributes(self._bundles) - set(self._fixed), key=lambda name: (name not in resident, name)
        )
        for name in chosen:
            if name.startswith("__") or (name in own) is shared:
                continue
            for family in sorted(own.get(name, {""})):
                made = {("attribute", maker) for maker in makers.get(name, ())}
                rooms = (made or everyone) if shared else {("attribute", family)}
                if not rooms.isdisjoint(outsiders) and rooms != everyone:
                    rooms = rooms | {_FOREIGN}
                key = ("" if shared else family, name)
                made_in = {("function", entry) for entry in methods.get(name, set())}
                self.naming.attributes[key] = self._word(rooms | made_in)


def rename(bundles: Trees, naming: Naming) -> None:
    """Put the names into the trees, in place."""
    keywords = {node.arg for node in every(bundles, ast.keyword) if node.arg}
    for _, function in _outermost(bundles):
        _rename_parameters(function, naming.places, keywords)
    family_of = families(bundles)
    for tree in bundles.values():
        _Renamer(naming, family_of).visit(tree)


def families(trees: Trees) -> dict[str, str]:
    """Class → the name of its family: classes that inherit from each other may be one object's."""
    family = {owner.name: {owner.name} for owner in every(trees, ast.ClassDef)}
    for owner in every(trees, ast.ClassDef):
        for base in owner.bases:
            if isinstance(base, ast.Name) and base.id in family:
                merged = family[owner.name] | family[base.id]
                for one in merged:
                    family[one] = merged
    return {name: min(group) for name, group in family.items()}


# ---- who names what ----


def _letters() -> Iterator[str]:
    """a, b, … aa, ab, … but for Python's own words, which are longer than that or in every program's own."""
    for length in (1, 2):
        for letters in itertools.product(string.ascii_letters, repeat=length):
            word = "".join(letters)
            if word not in ("as", "if", "in", "is", "or"):
                yield word


def _identifiers(trees: Trees) -> set[str]:
    """Every word of the program: a new name shall not mean anything yet."""
    found = {node.id for node in every(trees, ast.Name)} | {node.attr for node in every(trees, ast.Attribute)}
    found |= {node.arg for node in every(trees, ast.arg)} | {
        node.arg or "" for node in every(trees, ast.keyword)
    }
    found |= {node.name for node in every(trees, ast.FunctionDef)} | {
        node.name for node in every(trees, ast.ClassDef)
    }
    found |= {f"{alias.name}.{alias.asname or ''}" for alias in every(trees, ast.alias)}
    return {word for name in found for word in name.replace(":", ".").split(".")}


def _made_by(line: ast.stmt) -> Iterator[str]:
    if isinstance(line, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield line.name
        return
    for node in nodes(line):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and is_symbol(node.id):
            yield node.id
        elif isinstance(node, ast.alias) and node.asname and is_symbol(node.asname):
            yield node.asname


def _is_exception(line: ast.stmt) -> bool:
    """People are told its name."""
    bases = line.bases if isinstance(line, ast.ClassDef) else []
    return any(isinstance(base, ast.Name) and base.id.endswith(("Error", "Exception")) for base in bases)


def _methods(trees: Trees) -> dict[str, set[str]]:
    """Method → the entries that have one of that name."""
    found: dict[str, set[str]] = {}
    for entry, tree in trees.items():
        for owner in walk(tree, ast.ClassDef):
            for inner in owner.body:
                if isinstance(inner, FUNCTIONS):
                    found.setdefault(inner.name, set()).add(entry)
    return found


def _self_only(trees: Trees, family_of: Mapping[str, str]) -> dict[str, set[str]]:
    """Attribute → the families that ask `self` for it, where nobody asks anything else."""
    own: dict[str, set[str]] = {}
    others: set[str] = set()
    for tree in trees.values():
        inside: set[int] = set()
        for owner in walk(tree, ast.ClassDef):
            for node in walk(owner, ast.Attribute):
                if isinstance(node.value, ast.Name) and node.value.id == "self":
                    inside.add(id(node))
                    own.setdefault(node.attr, set()).add(family_of[owner.name])
            for line in owner.body:
                if isinstance(line, FUNCTIONS):
                    own.setdefault(line.name, set()).add(family_of[owner.name])
                elif isinstance(line, ast.Assign):
                    others |= {node.id for node in walk(line, ast.Name)}
        others |= {node.attr for node in walk(tree, ast.Attribute) if id(node) not in inside}
    return {name: found for name, found in own.items() if name not in others}


def _makers(trees: Trees, family_of: Mapping[str, str]) -> dict[str, set[str]]:
    """Attribute → the families of the classes that have it, where it is given to nothing but `self` and classes."""
    found: dict[str, set[str]] = {}
    given: set[str] = set()
    for tree in trees.values():
        inside: set[int] = set()
        for owner in walk(tree, ast.ClassDef):
            family = family_of[owner.name]
            made = [line.name for line in owner.body if isinstance(line, FUNCTIONS)]
            for line in owner.body:
                if isinstance(line, ast.Assign):
                    made += [node.id for target in line.targets for node in walk(target, ast.Name)]
            for node in walk(owner, ast.Attribute):
                if isinstance(node.value, ast.Name) and node.value.id == "self":
                    inside.add(id(node))
                    made += [] if isinstance(node.ctx, ast.Load) else [node.attr]
            for name in made:
                found.setdefault(name, set()).add(family)
        for node in walk(tree, ast.Attribute):
            if id(node) not in inside and not isinstance(node.ctx, ast.Load):
                given.add(node.attr)
    return {name: makers for name, makers in found.items() if name not in given}


def _outermost(trees: Trees) -> Iterator[tuple[str, Function]]:
    """Functions and methods, without those within them."""
    for entry, tree in trees.items():
        todo: list[ast.AST] = [tree]
        while todo:
            node = todo.pop()
            if isinstance(node, FUNCTIONS):
                yield entry, node
            else:
                todo.extend(ast.iter_child_nodes(node))


def _own_parameters(function: Function) -> list[str]:
    """The names of its parameters and of those of the functions within it."""
    inner = [node for node in nodes(function) if isinstance(node, FUNCTIONS)]
    found = [one.arg for node in inner for one in parameters(node)]
    found += [one.arg for node in walk(function, ast.Lambda) for one in walk(node.args, ast.arg)]
    return [name for name in dict.fromkeys(found) if name != "self"]


def _rename_parameters(function: Function, places: list[str], keywords: Collection[str]) -> None:
    free = iter(places)
    chosen = {name: next(free) for name in _own_parameters(function) if name not in keywords}
    for node in nodes(function):
        if isinstance(node, ast.Name):
            node.id = chosen.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = chosen.get(node.arg, node.arg)
        elif isinstance(node, ast.Nonlocal):
            node.names = [chosen.get(name, name) for name in node.names]


class _Renamer(ast.NodeTransformer):
    def __init__(self, naming: Naming, family_of: Mapping[str, str]) -> None:
        self._naming = naming
        self._family_of = family_of
        self._family = ""

    def _global(self, name: str) -> str:
        if name in self._naming.globals:
            return self._naming.globals[name]
        return plain(name)

    def _attribute(self, name: str, of_self: bool) -> str:
        return self._naming.attribute(self._family if of_self else "", name)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._global(node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        of_self = isinstance(node.value, ast.Name) and node.value.id == "self"
        node.attr = self._attribute(node.attr, of_self)
        return self.generic_visit(node)

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        outer, self._family = self._family, self._family_of[node.name]
        node.name = self._global(node.name)
        for line in node.body:
            if isinstance(line, FUNCTIONS):
                line.name = self._attribute(line.name, True)
            elif isinstance(line, ast.Assign):
                for target in line.targets:
                    if isinstance(target, ast.Name):
                        target.id = self._attribute(target.id, True)
        self.generic_visit(node)
        self._family = outer
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.name = self._global(node.name)
        return self.generic_visit(node)

    def visit_Global(self, node: ast.Global) -> ast.AST:
        node.names = [self._global(name) for name in node.names]
        return node

    def visit_alias(self, node: ast.alias) -> ast.AST:
        node.name = self._global(node.name)
        node.asname = self._global(node.asname) if node.asname else None
        if node.asname == node.name:
            node.asname = None
        return node

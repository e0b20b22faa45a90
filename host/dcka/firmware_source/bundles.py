"""Which modules become one, and the one that they become.

A module costs a node a table of names, an entry in each importer's for all that it takes, and two names of its own.
What is always loaded together is one: its entry's file holds all of it.
"""

import ast
from collections.abc import Collection, Mapping, Sequence

from dcka.firmware_source.syntax import Trees, every, is_symbol, walk


def entries(trees: Trees, edges: Collection[tuple[str, str]], booted: Collection[str]) -> list[str]:
    """The modules that are asked for while the node runs: what is booted, within a function, or by a text alone."""
    taken = {imported for _, imported in edges}
    late = {node.module for node in every(trees, ast.ImportFrom) if node.module}
    return [module for module in trees if module in booted or module in late or module not in taken]


def members(
    trees: Trees, edges: Collection[tuple[str, str]], asked: Sequence[str], resident: str
) -> dict[str, list[str]]:
    """Entry → its modules, in the order in which they are loaded. What two of them need, `resident` has."""
    needs: dict[str, list[str]] = {module: [] for module in trees}
    for module, imported in sorted(edges):
        needs[module].append(imported)
    closures = {entry: _closure(entry, needs, set(asked) - {entry}) for entry in asked}
    owners: dict[str, list[str]] = {module: [] for module in trees}
    for entry, closure in closures.items():
        for module in closure:
            owners[module].append(entry)
    homes = {
        module: one[0] if len(one) == 1 and resident not in one else resident
        for module, one in owners.items()
    }
    homes |= {entry: entry for entry in asked}
    ordered = _in_order(list(trees), needs)
    return {entry: [module for module in ordered if homes[module] == entry] for entry in asked}


def _closure(entry: str, needs: Mapping[str, Sequence[str]], others: Collection[str]) -> set[str]:
    found: set[str] = set()
    todo = [entry]
    while todo:
        module = todo.pop()
        if module not in found:
            found.add(module)
            todo.extend(one for one in needs[module] if one not in others)
    return found


def _in_order(modules: Sequence[str], needs: Mapping[str, Sequence[str]]) -> list[str]:
    done: list[str] = []

    def put(module: str) -> None:
        if module in done or module in waiting:
            return
        waiting.append(module)
        for imported in needs[module]:
            put(imported)
        done.append(module)

    waiting: list[str] = []
    for module in modules:
        put(module)
    return done


def joined(trees: Trees, entry: str, parts: Sequence[str], homes: Mapping[str, str]) -> ast.Module:
    """One module out of `parts`, with imports of what it takes from outside and from other entries.

    homes: module → entry.
    """
    body = [line for part in parts for line in trees[part].body]
    whole = ast.Module(body=body, type_ignores=[])
    inside = {node.name for node in body if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    used = {node.id for node in walk(whole, ast.Name) if is_symbol(node.id)} - inside
    imports: list[ast.stmt] = []
    taken: dict[str, list[str]] = {}
    for name in sorted(used):
        module, _, what = name.partition(":")
        if not module:
            before, _, _ = what.rpartition(".")
            if before:
                taken.setdefault(before, []).append(name)
            else:
                imports.append(ast.Import([ast.alias(what)]))
        elif homes[module] != entry:
            taken.setdefault(homes[module], []).append(name)
    for module in sorted(taken):
        names: list[ast.alias] = [ast.alias(name) for name in taken[module]]
        imports.append(ast.ImportFrom(module, names, 0))
    for node in walk(whole, ast.ImportFrom):
        home = homes.get(node.module or "")
        node.module = home or node.module
    whole.body = imports + body
    return ast.fix_missing_locations(whole)

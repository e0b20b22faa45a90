"""A checker for kernels in machine code: no integer of theirs leaves signed 32 bits within the documented bounds.

It runs a kernel's syntax tree over intervals instead of numbers. The unix port, whose viper integers have 64 bits,
could not show an overflow; a board would wrap without a word. What it takes for granted:

- an address is below 2^31 (ESP32: 0x3C… to 0x40…), and so is one with a table's size added;
- what lies behind a pointer is what its name says (`region`); each store is checked against that, so `accumulate` reads
  what `prepare` may have written. Loads zero-extend: nothing negative may be stored;
- row[2] is Σ c_j², so that the partial sums of row[2] − Σ c_j·2x_j lie between −Σ x_j² and Σ c_j², and with |x|² added
  it is a squared distance;
- an address minus that of `where` is an offset into the table, not below 0;
- a few facts that intervals can't see: `FACTS` and `SUMMED`, with their reasons.
"""

import ast
from dataclasses import replace

from kernel_values import ADDRESS, ARITHMETIC, LARGEST, OPPOSITE, POINTS, Bounds, Value, joined


class OverflowFound(Exception):
    """A line whose value can leave its range."""


# In the kernel for any n: one term for each dimension since `d = 0`, so a squared distance or a part of one.
SUMMED = "d += e * e"
_MOST_CREDIT = 24 * 2048 * (POINTS + 8)
FACTS = {
    # It changes once a point, by 4 at most, and begins with 32 at most.
    ("accumulate", "trust"): lambda b: (-POINTS, 32 + 4 * POINTS),
    # The low half of a key is the index that was put there.
    ("prepare", "index"): lambda b: (0, b.k - 1),
    # It begins with 8 points' share and grows by at most one a point; it falls only where it is not negative, by at
    # most all the rows. A share is half of the rows, K ≤ 4096 of 24 bytes.
    ("accumulate", "credit"): lambda b: (-2 * b.table, _MOST_CREDIT),
}


def kernel_functions(source: str) -> list[ast.FunctionDef]:
    """The functions in viper of a module."""
    functions = [node for node in ast.parse(source).body if isinstance(node, ast.FunctionDef)]
    assert all(ast.unparse(node.decorator_list[0]) == "micropython.viper" for node in functions)
    return functions


def check(source: str, bounds: Bounds) -> None:
    """Raises OverflowFound for the first line of the module that can leave 32 bits."""
    for function in kernel_functions(source):
        Checker(function, bounds).run()


class Checker:
    """One function of a kernel."""

    def __init__(self, function: ast.FunctionDef, bounds: Bounds) -> None:
        self.function = function
        self.bounds = bounds
        self.judging = True
        self.env: dict[str, Value] = {}
        limits = {1, 32, bounds.k, bounds.top, bounds.distance, LARGEST, 4 * LARGEST}
        limits |= {abs(limit) for fact in FACTS.values() for limit in fact(bounds)}
        self.steps = sorted(limits | {0} | {-limit for limit in limits})

    def run(self) -> None:
        """Raises OverflowFound."""
        n, k = Value(self.bounds.n, self.bounds.n), Value(1, self.bounds.k)
        for place, argument in enumerate(self.function.args.args):
            assert argument.annotation is not None
            if ast.unparse(argument.annotation) != "int":
                value = ADDRESS
            elif argument.arg in ("n", "k"):
                value = {"n": n, "k": k}[argument.arg]
            else:  # named for what they hold later: (block, count, n, where, k, sums)
                value = {1: Value(0, POINTS), 2: n}[place]
            self.env[argument.arg] = value
        self.block(self.function.body)

    def block(self, body: list[ast.stmt]) -> None:
        """Go through statements; a loop's end is joined with every state in it, so that `break` needs nothing."""
        for statement in body:
            match statement:
                case ast.Assign(targets=[target], value=value):
                    self.store(target, self.value(value), statement)
                case ast.AugAssign(target=ast.Subscript(value=ast.Name(id="sums")), value=value):
                    self.accumulated(self.value(value), statement)
                case ast.AugAssign() if self.bounds.looped and ast.unparse(statement) == SUMMED:
                    self.value(statement.value)
                    self.env["d"] = self.judged(Value(0, self.bounds.distance), statement.value)
                case ast.AugAssign(target=ast.Name(id=name) as target, op=op, value=value):
                    before = ast.Name(id=name, ctx=ast.Load())
                    self.store(target, self.value(ast.BinOp(before, op, value)), statement)
                case ast.If(test=test, body=yes, orelse=no):
                    self.branch(test, yes, no)
                case ast.While(test=test, body=inner):
                    self.loop(inner, test)
                case ast.For(target=ast.Name(id=name), iter=ast.Call(args=[stop]), body=inner):
                    self.env[name] = Value(0, max(self.value(stop).hi - 1, 0))
                    self.loop(inner, None)
                case ast.Break() | ast.Return():
                    pass
                case _:
                    raise NotImplementedError(ast.unparse(statement))

    def branch(self, test: ast.expr, yes: list[ast.stmt], no: list[ast.stmt]) -> None:
        self.value(test)
        before = dict(self.env)
        ends = []
        for holds, body in ((True, yes), (False, no)):
            self.env = dict(before)
            if self.narrow(test, holds):
                self.block(body)
                ends.append(self.env)
        self.env = joined(ends[0], ends[-1])

    def loop(self, body: list[ast.stmt], test: ast.expr | None) -> None:
        """Repeat until nothing grows, in steps that get coarser; then once more, and now each line is judged."""
        judged, self.judging = self.judging, False
        for turn in range(50):
            before = dict(self.env)
            self.turn(body, test)
            self.env = joined(before, self.env)
            if turn > 2:
                self.env = {name: self.widened(before.get(name), value) for name, value in self.env.items()}
            if self.env == before:
                break
        else:
            raise OverflowFound(f"{self.function.name}: no bound for the loop at line {body[0].lineno}")
        self.judging = judged
        if judged:
            before = dict(self.env)
            self.turn(body, test)
            self.env = before

    def turn(self, body: list[ast.stmt], test: ast.expr | None) -> None:
        if test is not None:
            self.value(test)
        if test is None or self.narrow(test, True):
            self.block(body)

    def widened(self, before: Value | None, after: Value) -> Value:
        if before is None or before == after or after.kind == "address":
            return after
        low = (
            after.lo
            if after.lo == before.lo
            else max((s for s in self.steps if s <= after.lo), default=after.lo)
        )
        high = (
            after.hi
            if after.hi == before.hi
            else min((s for s in self.steps if s >= after.hi), default=after.hi)
        )
        return replace(after, lo=low, hi=high)

    def narrow(self, test: ast.expr, holds: bool) -> bool:
        """What a test tells of the locals in it; False where it can't come out so."""
        match test:
            case ast.BoolOp(op=ast.And(), values=values) if holds:
                return False not in [self.narrow(value, True) for value in values]
            case ast.Name(id=name) if self.env[name].kind == "int":
                return self.env[name] != Value(0, 0) if holds else self.env[name].lo <= 0
            case ast.Subscript():
                return self.value(test) != Value(0, 0) if holds else True
            case ast.Compare(left=ast.Name(id=name), ops=[op], comparators=[right]):
                own, other = self.env[name], self.value(right)
                if own.kind != "int" or other.kind != "int":
                    return True
                word = type(op) if holds else OPPOSITE.get(type(op))
                low, high = own.lo, own.hi
                if word in (ast.Lt, ast.LtE):
                    high = min(high, other.hi - (word is ast.Lt))
                elif word in (ast.Gt, ast.GtE):
                    low = max(low, other.lo + (word is ast.Gt))
                self.env[name] = Value(min(low, high), high)
                return low <= high
        return True

    def value(self, node: ast.expr) -> Value:
        """The interval of an expression, each part of it judged."""
        match node:
            case ast.Constant(value=int(number)):
                if number >= 0x40000000:
                    raise OverflowFound(f"{self.function.name}: viper takes no literal {number:#x}")
                return Value(number, number)
            case ast.Name(id=name):
                return self.env[name]
            case ast.Call(func=ast.Name(id="int" | "ptr8" | "ptr16" | "ptr32"), args=[inner]):
                return self.value(inner)
            case ast.Subscript(value=pointer, slice=index):
                self.value(index)
                return self.region(pointer, index)
            case ast.Compare(left=left, comparators=[right]):
                self.value(left)
                self.value(right)
                return Value(0, 1)
            case ast.BoolOp(values=values):
                for each in values:
                    self.value(each)
                return Value(0, 1)
            case ast.BinOp():
                return self.judged(self.product_form(node) or self.operation(node), node)
        raise NotImplementedError(ast.unparse(node))

    def operation(self, node: ast.BinOp) -> Value:
        a, b = self.value(node.left), self.value(node.right)
        if "unknown" in (a.kind, b.kind):
            raise OverflowFound(f"{ast.unparse(node)}: a local that is one thing or another")
        if "address" in (a.kind, b.kind):
            if isinstance(node.op, ast.Sub) and a.kind == b.kind:
                from_start = ast.unparse(node.right) == "int(where)"
                return Value(0 if from_start else -self.bounds.table, self.bounds.table)
            size = b if a.kind == "address" else a
            if (
                max(abs(size.lo), abs(size.hi)) > max(self.bounds.table, 2 * self.bounds.n * POINTS)
                and size.kind == "int"
            ):
                self.complain(node, size)
            return ADDRESS
        if b.kind == "square" and a.kind == "shifted" and isinstance(node.op, ast.Add):
            return Value(a.lo, a.hi)
        if b.kind == "square" and a.kind == "int" and isinstance(node.op, ast.Sub):
            return Value(a.lo, a.hi, "shifted")
        kind = "shifted" if a.kind == "shifted" else "int"
        if "shifted" in (a.kind, b.kind) and (kind, b.kind) != ("shifted", "int"):
            raise OverflowFound(
                f"{ast.unparse(node)}: what is less by |x|² may only have a number, or |x|², added"
            )
        if isinstance(node.op, ast.Mult) and ast.unparse(node.left) == ast.unparse(node.right):
            most = max(abs(a.lo), abs(a.hi)) ** 2
            return Value(0, most)
        return Value(*ARITHMETIC[type(node.op)](a, b), kind)

    def product_form(self, node: ast.BinOp) -> Value | None:
        """row[2] − row[3]·twice0 − …, as far as it goes: see the module's docstring."""
        terms: list[ast.BinOp] = []
        at: ast.expr = node
        while isinstance(at, ast.BinOp) and isinstance(at.op, ast.Sub):
            if not isinstance(at.right, ast.BinOp):
                return None
            terms.insert(0, at.right)
            at = at.left
        if (
            ast.unparse(at) != "row[2]"
            or not terms
            or not any("twice" in ast.unparse(term) for term in terms)
        ):
            return None
        for j, term in enumerate(terms):
            assert ast.unparse(term) == f"row[{j + 3}] * twice{j}", ast.unparse(term)
            self.judged(self.operation(term), term)
            self.judged(Value(-(j + 1) * self.bounds.top**2, self.bounds.distance), node)
        assert len(terms) == self.bounds.n
        return Value(0, self.bounds.distance, "shifted")

    def region(self, pointer: ast.expr, index: ast.expr) -> Value:
        """What is behind a pointer."""
        b = self.bounds
        base = ast.unparse(pointer)
        place = index.value if isinstance(index, ast.Constant) else None
        if base.startswith("ptr8("):
            return Value(0, min(b.k, 256) - 1)
        if base in ("here", "point", "centre", "centres", "values", "own", "block"):
            return Value(0, b.top)
        if base == "keys":
            return Value(0, LARGEST)
        if base == "places":
            return Value(0, b.table)
        if base == "where":
            labels = b.k <= 256
            header = {
                0: b.table * labels,
                1: 32 * labels,
                2: 2 * labels,
                3: max(0, b.bits - 5) if b.ordered else 1,
            }
            return Value(0, header.get(place, b.table))
        if base in ("row", "other", "ptr32(group)"):
            with_square = b.n <= 4 and not b.looped
            fields = {0: b.k - 1, 1: (LARGEST + 2) >> 2}
            if place == 2 and with_square:
                return Value(0, b.distance)
            return Value(0, fields.get(place, b.top))
        raise NotImplementedError(base)

    def store(self, target: ast.expr, value: Value, statement: ast.stmt) -> None:
        if isinstance(target, ast.Name):
            fact = FACTS.get((self.function.name, target.id))
            if fact and value.kind != "address":
                low, high = fact(self.bounds)
                value = replace(value, lo=max(value.lo, low), hi=min(value.hi, high))
            if target.id == "square":
                value = replace(value, kind="square")
            self.env[target.id] = value
            return
        assert isinstance(target, ast.Subscript)
        self.value(target.slice)
        allowed = self.region(target.value, target.slice)
        if allowed == Value(0, 0) and ast.unparse(target.value) == "where":
            allowed = Value(0, LARGEST)  # a header of a table without labels
        if self.judging and (value.kind != "int" or value.lo < 0 or value.hi > allowed.hi):
            self.complain(statement, value)

    def accumulated(self, added: Value, statement: ast.stmt) -> None:
        if self.judging and (added.kind != "int" or added.lo < 0 or added.hi * POINTS > LARGEST):
            self.complain(statement, added)

    def judged(self, value: Value, node: ast.expr) -> Value:
        lowest = value.lo - (self.bounds.distance if value.kind == "shifted" else 0)
        if self.judging and value.kind != "address" and not -LARGEST - 1 <= lowest <= value.hi <= LARGEST:
            self.complain(node, value)
        return value

    def complain(self, node: ast.AST, value: Value) -> None:
        if self.judging:
            raise OverflowFound(f"{self.function.name}, {ast.unparse(node)}: {value} with {self.bounds}")

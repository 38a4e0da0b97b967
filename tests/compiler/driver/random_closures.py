"""Random programs with functions that are values: written in place, partial, chosen, kept in loops;
and with values of data types: held by functions and holding them, built and taken apart in loops.

Every function that may be recursive has a measure `n`, which calls decrease, and whose end is
tested before any call. What a function that is a value calls has the measure of where it was made.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from hypothesis import strategies as st

DATA = "int32[3]"
UNARY = f"fn({DATA}) -> {DATA}"
BINARY = f"fn({DATA}, {DATA}) -> {DATA}"
HIGHER = f"fn({UNARY}, {DATA}) -> {DATA}"
MAKER = f"fn({DATA}) -> {UNARY}"
PAIR = f"({UNARY}, {DATA})"
LIST = f"List[{DATA}]"
TREE = "Tree"
STEPS = f"Steps[{DATA}]"
QUEUE = f"List[{UNARY}]"
TYPES = (DATA, UNARY, BINARY, HIGHER, MAKER, PAIR, LIST, TREE, STEPS, QUEUE)
CONSTRUCTORS: dict[str, tuple[tuple[str, tuple[str, ...]], ...]] = {
    LIST: ((f"Nil[{DATA}]", ()), ("Cons", (DATA, LIST))),
    TREE: (("Tip", ()), ("Leaf", (DATA,)), ("Node", (TREE, LIST, TREE))),
    STEPS: ((f"Keep[{DATA}]", ()), ("Step", (UNARY, STEPS)), ("Either", (BINARY, STEPS, DATA))),
    QUEUE: ((f"Nil[{UNARY}]", ()), ("Cons", (UNARY, QUEUE))),
}
"""Constructors and the types of their fields, by data type."""
FUNCTIONS: dict[str, tuple[tuple[str, ...], str]] = {
    UNARY: ((DATA,), DATA),
    BINARY: ((DATA, DATA), DATA),
    HIGHER: ((UNARY, DATA), DATA),
    MAKER: ((DATA,), UNARY),
}
"""Types of parameters and result by type."""

Signature: TypeAlias = tuple[tuple[str, ...], str]

HELPERS: dict[str, Signature] = {
    "twice": ((UNARY, DATA), DATA),
    "compose": ((UNARY, UNARY), UNARY),
    "swap": ((BINARY, DATA, DATA), DATA),
    "map": ((UNARY, LIST), LIST),
    "fold": ((BINARY, DATA, LIST), DATA),
    "leaves": ((TREE, LIST), LIST),
    "follow": ((STEPS, DATA), DATA),
    "serve": ((QUEUE, UNARY), UNARY),
}
PRELUDE = """\
type List[T] = Nil | Cons(T, List[T])
type Tree = Tip | Leaf(int32[3]) | Node(Tree, List[int32[3]], Tree)
type Steps[T] = Keep | Step(fn(T) -> T, Steps[T]) | Either(fn(T, T) -> T, Steps[T], T)

func @twice(f: fn(int32[N]) -> int32[N], x: int32[N]) -> int32[N]:
  y = call f(x)
  z = call f(y)
  return z

func @compose(f: fn(int32[N]) -> int32[M], g: fn(int32[M]) -> int32[K]) -> fn(int32[N]) -> int32[K]:
  h = fun(x: int32[N]) -> int32[K]:
    y = call f(x)
    z = call g(y)
    yield z
  return h

func @swap(f: fn(int32[N], int32[M]) -> int32[K], a: int32[M], b: int32[N]) -> int32[K]:
  y = call f(b, a)
  return y

func @map[T](f: fn(T[N]) -> T[N], all: List[T[N]]) -> List[T[N]]:
  r = match all:
    Nil:
      none = Nil[T[N]]()
      yield none
    Cons(head, tail):
      y = call f(head)
      rest = @map(f, tail)
      more = Cons(y, rest)
      yield more
  return r

func @fold(f: fn(int32[3], int32[3]) -> int32[3], start: int32[3], all: List[int32[3]]) -> int32[3]:
  r = match all:
    Cons(head, tail):
      y = call f(start, head)
      t = @fold(f, y, tail)
      yield t
    else:
      yield start
  return r

func @leaves(tree: Tree, all: List[int32[3]]) -> List[int32[3]]:
  r = match tree:
    Leaf(value):
      more = Cons(value, all)
      yield more
    Node(left, own, right):
      after = @leaves(right, all)
      t = @leaves(left, after)
      yield t
    Tip:
      yield all
  return r

func @follow(steps: Steps[int32[3]], x: int32[3]) -> int32[3]:
  r = match steps:
    Step(f, rest):
      y = call f(x)
      t = @follow(rest, y)
      yield t
    Either(g, others, z):
      u = call g(x, z)
      s = @follow(others, u)
      yield s
    Keep:
      yield x
  return r
"""
PRELUDE += f"""
func @serve(all: {QUEUE}, f: {UNARY}) -> {UNARY}:
  r = match all:
    Cons(g, rest):
      h = @compose(f, g)
      t = @serve(rest, h)
      yield t
    Nil:
      yield f
  return r
"""
_UNARY = ("negative", "absolute", "relu")
_BINARY = ("add", "subtract", "maximum", "minimum")

Scope: TypeAlias = list[tuple[str, str]]
"""Names and types of values."""


@dataclass
class _Writer:
    """A function under construction; `signatures` are those of functions with a measure."""

    draw: st.DrawFn
    signatures: list[Signature]
    count: int = 0
    lines: list[str] = field(default_factory=list)

    def new(self, stem: str = "v") -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def emit(self, depth: int, line: str) -> None:
        self.lines.append("  " * depth + line)

    def pick(self, most: int) -> int:
        return self.draw(st.integers(0, most))

    def value(self, depth: int, scope: Scope, wanted: str, fuel: int) -> str:
        """A name or constant of the wanted type; values that it needs are added."""
        known = [name for name, type_ in scope if type_ == wanted]
        if known and (fuel <= 0 or self.pick(2) == 0):
            return self.draw(st.sampled_from(known))
        if wanted == DATA and (fuel <= 0 or self.pick(7) == 0):
            return f"{DATA}({', '.join(str(self.pick(6) - 3) for _ in range(3))})"
        ways = [*self.ways(scope, wanted)] if fuel > 0 else []
        if ways and self.pick(2):
            before, params, given = self.draw(st.sampled_from(ways))
            args = [*given, *(self.value(depth, scope, each, fuel - 1) for each in params)]
            return self.let(depth, scope, wanted, f"{before}({', '.join(args)})")
        if fuel > 0 and depth < 4 and self.pick(2) == 0:
            matched = [name for name, type_ in scope if type_ in CONSTRUCTORS]
            if matched and self.pick(3):
                return self.match(depth, scope, wanted, fuel, self.draw(st.sampled_from(matched)))
            return self.branch(depth, scope, wanted, fuel)
        if wanted in CONSTRUCTORS:
            forms = CONSTRUCTORS[wanted]
            name, fields = self.draw(st.sampled_from(forms)) if fuel > 0 else forms[0]
            args = [self.value(depth, scope, each, fuel - 1) for each in fields]
            return self.let(depth, scope, wanted, f"{name}({', '.join(args)})")
        if wanted == DATA:
            operators = _UNARY if self.pick(2) == 0 else _BINARY
            args = [
                self.value(depth, scope, DATA, fuel - 1)
                for _ in range(1 if operators is _UNARY else 2)
            ]
            operator = self.draw(st.sampled_from(operators))
            return self.let(depth, scope, wanted, f"{operator}({', '.join(args)})")
        if wanted == PAIR:
            args = [self.value(depth, scope, each, fuel - 1) for each in (UNARY, DATA)]
            return self.let(depth, scope, wanted, f"({', '.join(args)})")
        return self.written(depth, scope, wanted, fuel)

    def let(self, depth: int, scope: Scope, type_: str, value: str) -> str:
        name = self.new()
        declared = f": {type_}" if "@" in value and "partial" in value else ""
        self.emit(depth, f"{name}{declared} = {value}")
        scope.append((name, type_))
        return name

    def ways(self, scope: Scope, wanted: str) -> Iterator[tuple[str, tuple[str, ...], list[str]]]:
        """Calls that give the wanted type: what is called, types of arguments, first arguments."""
        measured = [("int64[]", "m")] if ("m", "int64[]") in scope else []
        callees: list[tuple[str, str, tuple[str, ...], str, list[str]]] = [
            (f"call {name}", f"partial {name}", *FUNCTIONS[type_], [])
            for name, type_ in scope
            if type_ in FUNCTIONS
        ]
        callees += [(f"@{name}", f"partial @{name}", *it, []) for name, it in HELPERS.items()]
        if measured:
            callees += [
                (f"@f{at}", f"partial @f{at}", *signature, ["m"])
                for at, signature in enumerate(self.signatures)
            ]
        for called, partial, params, result, given in callees:
            if result == wanted:
                yield called, params, given
            for count in range(len(params)):
                if FUNCTIONS.get(wanted) == (params[count:], result):
                    yield partial, params[:count], given
        for name, type_ in scope:
            if type_ == PAIR and wanted in (UNARY, DATA):
                yield f"part {name}", (), ["0" if wanted == UNARY else "1"]

    def branch(self, depth: int, scope: Scope, wanted: str, fuel: int) -> str:
        data = self.value(depth, scope, DATA, 0)
        total, test, name = self.new("sum"), self.new("c"), self.new()
        self.emit(depth, f"{total} = reduce_sum({data}, axes=[0], keepdims=False)")
        self.emit(depth, f"{test} = less({total}, int32[]({self.pick(8) - 4}))")
        self.emit(depth, f"{name} = if {test}:")
        for last in (False, True):
            inner = self.value(depth + 1, [*scope], wanted, fuel - 1)
            self.emit(depth + 1, f"yield {inner}")
            if not last:
                self.emit(depth, "else:")
        scope.append((name, wanted))
        return name

    def match(self, depth: int, scope: Scope, wanted: str, fuel: int, operand: str) -> str:
        """A match, whose last arm may be for all that is left."""
        forms = self.draw(st.permutations(CONSTRUCTORS[dict(scope)[operand]]))
        others = self.pick(2) == 0
        name = self.new()
        self.emit(depth, f"{name} = match {operand}:")
        for at, (constructor, types) in enumerate(forms):
            fields = [(self.new("x"), each) for each in types]
            arm = constructor.partition("[")[0]
            if fields:
                arm += f"({', '.join(field for field, _ in fields)})"
            if others and at == len(forms) - 1:
                arm, fields = "else", []
            self.emit(depth + 1, f"{arm}:")
            inner = self.value(depth + 2, [*scope, *fields], wanted, fuel - 1)
            self.emit(depth + 2, f"yield {inner}")
        scope.append((name, wanted))
        return name

    def written(self, depth: int, scope: Scope, wanted: str, fuel: int) -> str:
        """A function that is written in place."""
        types, result = FUNCTIONS[wanted]
        name, params = self.new("g"), [(self.new("p"), each) for each in types]
        declared = f" -> {result}" if self.pick(1) else ""
        listed = ", ".join(f"{param}: {type_}" for param, type_ in params)
        self.emit(depth, f"{name} = fun({listed}){declared}:")
        inner = self.value(depth + 1, [*scope, *params], result, min(fuel - 1, 2))
        self.emit(depth + 1, f"yield {inner}")
        scope.append((name, wanted))
        return name

    def text(self) -> str:
        """The text, without calls that stand for parts of pairs."""
        lines = []
        for line in self.lines:
            start, _, rest = line.partition("= part ")
            lines.append(f"{start}= {rest.replace('(', '[').replace(')', ']')}" if rest else line)
        return "\n".join(lines) + "\n"


def _function(draw: st.DrawFn, signatures: list[Signature], number: int) -> str:
    params, result = signatures[number]
    writer = _Writer(draw, signatures)
    scope = [(f"a{at}", each) for at, each in enumerate(params)]
    listed = "".join(f", {name}: {type_}" for name, type_ in scope)
    writer.emit(0, f"func @f{number}(n: int64[]{listed}) -> {result}:")
    writer.emit(1, "go = greater(n, int64[](0))")
    writer.emit(1, "whole = if go:")
    writer.emit(2, "m = subtract(n, int64[](1))")
    inner: Scope = [*scope, ("m", "int64[]")]
    same = [at for at, each in enumerate(signatures) if each[1] == result]
    if writer.pick(2):
        callee = draw(st.sampled_from(same))
        args = ["m", *(writer.value(2, inner, each, 2) for each in signatures[callee][0])]
        writer.emit(2, f"last = @f{callee}({', '.join(args)})")
        writer.emit(2, "yield last")
    else:
        writer.emit(2, f"yield {writer.value(2, inner, result, 3)}")
    writer.emit(1, "else:")
    writer.emit(2, f"yield {writer.value(2, [*scope], result, 2)}")
    writer.emit(1, "return whole")
    return writer.text()


@st.composite
def programs(draw: st.DrawFn) -> str:
    """The text of a program of one or two functions and `main`, on a measure and two tensors."""
    types = st.sampled_from(TYPES)
    params = st.lists(types, min_size=1, max_size=3).map(tuple)
    signatures = draw(st.lists(st.tuples(params, types), min_size=1, max_size=2))
    functions = [_function(draw, signatures, number) for number in range(len(signatures))]
    main = _Writer(draw, signatures)
    main.emit(0, f"func @main(m: int64[], a: {DATA}, b: {DATA}):")
    scope: Scope = [("m", "int64[]"), ("a", DATA), ("b", DATA)]
    callee = draw(st.sampled_from(range(len(signatures))))
    args = ["m", *(main.value(1, scope, each, 2) for each in signatures[callee][0])]
    scope.append((main.new("r"), signatures[callee][1]))
    main.emit(1, f"{scope[-1][0]} = @f{callee}({', '.join(args)})")
    one, other = (main.value(1, scope, DATA, 3) for _ in range(2))
    main.emit(1, f"z = ({one}, {other})")
    main.emit(1, "return z")
    return "\n".join([PRELUDE, *functions, main.text()])

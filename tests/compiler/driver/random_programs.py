"""Random programs with functions, nested branches, loops and mutual recursion, that all end.

Every function has a measure `n`, which calls decrease, and whose end is tested before any call.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from hypothesis import strategies as st

DATA = "int32[3]"
RESULTS = (DATA, f"({DATA}, int64[])", f"(({DATA},), {DATA})")
_UNARY = ("negative", "absolute", "relu")
_BINARY = ("add", "subtract", "multiply", "maximum", "minimum")


@dataclass
class _Function:
    """A function under construction."""

    draw: st.DrawFn
    results: list[str]
    number: int
    count: int = 0
    lines: list[str] = field(default_factory=list)

    def new(self, stem: str = "v") -> str:
        self.count += 1
        return f"{stem}{self.count}"

    def emit(self, depth: int, line: str) -> None:
        self.lines.append("  " * depth + line)

    def data(self, scope: list[str]) -> str:
        """A tensor in scope or, sometimes, a constant."""
        if self.draw(st.integers(0, 5)) == 0:
            return f"{DATA}({', '.join(str(self.draw(st.integers(-3, 3))) for _ in range(3))})"
        return self.draw(st.sampled_from(scope))

    def values(self, depth: int, scope: list[str], most: int) -> None:
        """Add random values to the scope."""
        for _ in range(self.draw(st.integers(0, most))):
            name = self.new()
            kind = self.draw(st.integers(0, 5))
            if kind == 0:
                self.emit(
                    depth, f"{name} = {self.draw(st.sampled_from(_UNARY))}({self.data(scope)})"
                )
            elif kind < 4 or depth > 3:
                operator = self.draw(st.sampled_from(_BINARY))
                self.emit(depth, f"{name} = {operator}({self.data(scope)}, {self.data(scope)})")
            else:
                self.branch(name, depth, scope)
            scope.append(name)

    def condition(self, depth: int, scope: list[str]) -> str:
        """A condition that depends on data, or is known."""
        if self.draw(st.integers(0, 5)) == 0:
            return f"bool[]({self.draw(st.booleans())})"
        total, name = self.new("sum"), self.new("c")
        self.emit(depth, f"{total} = reduce_sum({self.data(scope)}, axes=[0], keepdims=False)")
        self.emit(depth, f"{name} = less({total}, int32[]({self.draw(st.integers(-4, 4))}))")
        return name

    def branch(self, name: str, depth: int, scope: list[str]) -> None:
        condition = self.condition(depth, scope)
        self.emit(depth, f"{name} = if {condition}:")
        for last in (False, True):
            inner = [*scope]
            self.values(depth + 1, inner, 2)
            self.emit(depth + 1, f"yield {self.data(inner)}")
            if not last:
                self.emit(depth, "else:")

    def packed(self, depth: int, scope: list[str], measure: str, result: str) -> str:
        """A value of the result type."""
        if result == DATA:
            return self.data(scope)
        name = self.new("t")
        if result == RESULTS[1]:
            self.emit(depth, f"{name} = ({self.data(scope)}, {measure})")
        else:
            one = self.new("t")
            self.emit(depth, f"{one} = ({self.data(scope)},)")
            self.emit(depth, f"{name} = ({one}, {self.data(scope)})")
        return name

    def call(self, depth: int, scope: list[str], measure: str) -> tuple[str, str]:
        """A call of any function; returns the name and type of its result."""
        callee = self.draw(st.integers(0, len(self.results) - 1))
        name = self.new("r")
        a, b = self.data(scope), self.data(scope)
        self.emit(depth, f"{name} = @f{callee}({measure}, {a}, {b})")
        result = self.results[callee]
        if result != DATA:
            got = self.new("g")
            self.emit(depth, f"{got} = {name}[{0 if result == RESULTS[1] else 1}]")
            scope.append(got)
        else:
            scope.append(name)
        return name, result

    def text(self) -> str:
        """The text of the function."""
        result = self.results[self.number]
        self.emit(0, f"func @f{self.number}(n: int64[], a: {DATA}, b: {DATA}) -> {result}:")
        scope = ["a", "b"]
        self.values(1, scope, 3)
        self.emit(1, "go = greater(n, int64[](0))")
        self.emit(1, "whole = if go:")
        self.emit(2, "m = subtract(n, int64[](1))")
        inner = [*scope]
        for _ in range(self.draw(st.integers(0, 1))):
            self.values(2, inner, 2)
            self.call(2, inner, "m")
        self.values(2, inner, 2)
        same = [at for at, each in enumerate(self.results) if each == result]
        if self.draw(st.integers(0, 3)):
            end = self.new("r")
            callee = self.draw(st.sampled_from(same))
            self.emit(2, f"{end} = @f{callee}(m, {self.data(inner)}, {self.data(inner)})")
        else:
            end = self.packed(2, inner, "m", result)
        self.emit(2, f"yield {end}")
        self.emit(1, "else:")
        outer = [*scope]
        self.values(2, outer, 2)
        self.emit(2, f"yield {self.packed(2, outer, 'n', result)}")
        self.emit(1, "return whole")
        return "\n".join(self.lines) + "\n"


@st.composite
def programs(draw: st.DrawFn) -> str:
    """The text of a program of one to three functions and `main`, on a measure and two tensors."""
    results = draw(st.lists(st.sampled_from(RESULTS), min_size=1, max_size=3))
    functions = [_Function(draw, results, number).text() for number in range(len(results))]
    main = _Function(draw, results, len(results))
    main.emit(0, f"func @main(n: int64[], a: {DATA}, b: {DATA}):")
    scope = ["a", "b"]
    main.values(1, scope, 2)
    measure = "n" if draw(st.booleans()) else f"int64[]({draw(st.integers(0, 3))})"
    name, _ = main.call(1, scope, measure)
    main.values(1, scope, 2)
    main.emit(1, f"z = ({main.data(scope)}, {name})")
    main.emit(1, "return z")
    return "\n".join([*functions, "\n".join(main.lines) + "\n"])

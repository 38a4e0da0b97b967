"""Random programs that are smooth in their floats, with branches, loops, recursion, closures and
lists."""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Final

VECTOR: Final = "float64[3]"
LIST: Final = f"List[{VECTOR}]"
FUNCTION: Final = f"fn({VECTOR}) -> {VECTOR}"

_UNARY = ("sin", "cos", "tanh", "sigmoid", "softplus", "gelu", "negative", "identity")
_BINARY = ("add", "subtract", "multiply", "multiply")


@dataclass
class _Program:
    """The functions of a program, and numbers for names."""

    random: Random
    functions: list[str] = field(default_factory=list)
    count: int = 0

    def name(self, stem: str) -> str:
        self.count += 1
        return f"{stem}{self.count}"


@dataclass
class _Body:
    """The lines of a body: vectors, functions and conditions that are in scope."""

    program: _Program
    vectors: list[str]
    callables: list[str]
    conditions: list[str]
    counts: list[str]
    depth: int
    lines: list[str] = field(default_factory=list)
    lists: list[str] = field(default_factory=list)

    def let(self, value: str, stem: str = "v") -> str:
        name = self.program.name(stem)
        self.lines.append(f"{name} = {value}")
        return name

    def vector(self) -> str:
        return self.program.random.choice(self.vectors)

    def step(self) -> None:
        random = self.program.random
        kinds = ["unary", "binary", "matrix", "if", "loop", "sum", "fun", "call", "choice"]
        kinds += ["cons", "grow", "fold", "fold"]
        match random.choice(kinds):
            case "unary":
                self.vectors.append(self.let(f"{random.choice(_UNARY)}({self.vector()})"))
            case "binary":
                both = f"{random.choice(_BINARY)}({self.vector()}, {self.vector()})"
                self.vectors.append(self.let(both))
            case "matrix":
                norm = self.let(f"softmax({self.vector()})")
                self.vectors.append(self.let(f"cumulative_sum({norm})"))
            case "if" if self.depth < 2:
                self._if()
            case "loop" if self.counts and self.depth < 2:
                self._loop(tail=True)
            case "sum" if self.counts and self.depth < 2:
                self._loop(tail=False)
            case "fun" if self.depth < 2:
                self.callables.append(self._fun())
            case "call" if self.callables:
                callee = random.choice(self.callables)
                self.vectors.append(self.let(f"call {callee}({self.vector()})"))
            case "choice" if len(self.callables) > 1:
                self._choice()
            case "cons":
                last = random.choice(self.lists) if self.lists else self.let(f"Nil[{VECTOR}]()")
                self.lists.append(self.let(f"Cons({self.vector()}, {last})", "all"))
            case "grow" if self.counts and self.depth < 2:
                self._grow()
            case "fold" if self.lists and self.depth < 2:
                self._fold(tail=random.random() < 0.5)
            case _:
                self.vectors.append(self.let(f"tanh({self.vector()})"))

    def inner(self, steps: int, *more: str) -> _Body:
        body = _Body(
            self.program,
            [*self.vectors, *more],
            [*self.callables],
            [*self.conditions],
            [*self.counts],
            self.depth + 1,
            lists=[*self.lists],
        )
        for _ in range(steps):
            body.step()
        return body

    def ended(self, result: str) -> list[str]:
        return [f"  {line}" for line in (*self.lines, f"yield {result}")]

    def _if(self) -> None:
        condition = self.program.random.choice(self.conditions)
        sides = [self.inner(self.program.random.randrange(3)) for _ in range(2)]
        name = self.program.name("v")
        then, otherwise = (side.ended(side.vector()) for side in sides)
        self.lines += [f"{name} = if {condition}:", *then, "else:", *otherwise]
        self.vectors.append(name)

    def _fun(self) -> str:
        name, param = self.program.name("f"), self.program.name("p")
        body = self.inner(self.program.random.randrange(1, 3), param)
        self.lines += [f"{name} = fun({param}: {VECTOR}) -> {VECTOR}:", *body.ended(body.vector())]
        return name

    def _choice(self) -> None:
        random = self.program.random
        name = self.program.name("f")
        then, otherwise = ([f"  yield {random.choice(self.callables)}"] for _ in range(2))
        condition = random.choice(self.conditions)
        self.lines += [f"{name} = if {condition}:", *then, "else:", *otherwise]
        self.callables.append(name)

    def _loop(self, tail: bool) -> None:
        """A function that calls itself, and a call of it."""
        random, program = self.program.random, self.program
        name = program.name("loop")
        body = _Body(program, ["x", "a"], ["f"], ["c"], [], self.depth + 1)
        for _ in range(random.randrange(1, 4)):
            body.step()
        value = body.vector()
        more = [f"again = @{name}(m, {value}, a, c, f)"]
        more += (
            ["yield again"] if tail else [f"both = multiply(again, {body.vector()})", "yield both"]
        )
        params = f"n: int64[], x: {VECTOR}, a: {VECTOR}, c: bool[], f: {FUNCTION}"
        lines = [
            f"func @{name}({params}) -> {VECTOR}:",
            "  go = greater(n, int64[](0))",
            "  r = if go:",
            "    m = subtract(n, int64[](1))",
            *(f"    {line}" for line in (*body.lines, *more)),
            "  else:",
            "    yield x",
            "  return r",
        ]
        program.functions.append("\n".join(lines))
        callee = random.choice(self.callables) if self.callables else self._fun()
        operands = (random.choice(self.counts), self.vector(), self.vector())
        condition = random.choice(self.conditions)
        self.vectors.append(self.let(f"@{name}({', '.join(operands)}, {condition}, {callee})"))

    def _define(self, head: str, lines: list[str]) -> None:
        """A function, whose value `r` these lines have."""
        text = (f"func @{head}:", *(f"  {line}" for line in lines), "  return r")
        self.program.functions.append("\n".join(text))

    def _part(self, vectors: list[str]) -> _Body:
        """The body of a branch of a function of its own."""
        body = _Body(self.program, vectors, [], ["c"], [], self.depth + 1)
        for _ in range(self.program.random.randrange(1, 4)):
            body.step()
        return body

    def _grow(self) -> None:
        """A loop that makes a list, and a call of it."""
        random, name = self.program.random, self.program.name("grow")
        body = self._part(["x", "a"])
        value, held = body.vector(), body.vector()
        more = (f"longer = Cons({held}, all)", f"again = @{name}(m, {value}, a, c, longer)")
        lines = [
            "go = greater(n, int64[](0))",
            "r = if go:",
            "  m = subtract(n, int64[](1))",
            *(f"  {line}" for line in (*body.lines, *more, "yield again")),
            "else:",
            "  yield all",
        ]
        params = f"n: int64[], x: {VECTOR}, a: {VECTOR}, c: bool[], all: {LIST}"
        self._define(f"{name}({params}) -> {LIST}", lines)
        last = random.choice(self.lists) if self.lists else self.let(f"Nil[{VECTOR}]()")
        operands = (random.choice(self.counts), self.vector(), self.vector())
        given = (*operands, random.choice(self.conditions), last)
        self.lists.append(self.let(f"@{name}({', '.join(given)})", "all"))

    def _fold(self, tail: bool) -> None:
        """A function that goes through a list, and a call of it."""
        random, name = self.program.random, self.program.name("fold")
        body = self._part(["first", "s", "a"])
        more = [f"again = @{name}(others, {body.vector()}, a, c)"]
        more += ["yield again"] if tail else [f"both = add(again, {body.vector()})", "yield both"]
        lines = [
            "r = match all:",
            "  Nil:",
            "    yield s",
            "  Cons(first, others):",
            *(f"    {line}" for line in (*body.lines, *more)),
        ]
        self._define(f"{name}(all: {LIST}, s: {VECTOR}, a: {VECTOR}, c: bool[]) -> {VECTOR}", lines)
        given = (random.choice(self.lists), self.vector(), self.vector())
        condition = random.choice(self.conditions)
        self.vectors.append(self.let(f"@{name}({', '.join(given)}, {condition})"))


def smooth_program(random: Random, steps: int = 8) -> str:
    """The text of a program of two vectors, two conditions and a count, that gives a scalar."""
    program = _Program(random)
    body = _Body(program, ["x", "y"], [], ["c", "d"], ["n"], 0)
    for _ in range(steps):
        body.step()
    chosen = [body.vectors[-1], body.vector()]
    last = [
        f"both = multiply({chosen[0]}, {chosen[1]})",
        "whole = add(both, x)",
        "result = reduce_mean(whole, keepdims=False)",
    ]
    lines = [
        f"func @main(x: {VECTOR}, y: {VECTOR}, c: bool[], d: bool[], n: int64[]) -> float64[]:",
        *(f"  {line}" for line in (*body.lines, *last, "return result")),
    ]
    declared = "type List[T] = Nil | Cons(T, List[T])"
    return "\n\n".join((declared, *program.functions, "\n".join(lines))) + "\n"

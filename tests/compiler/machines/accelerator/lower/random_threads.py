"""Random programs of virtual threads, whose iterations are independent."""

from __future__ import annotations

import random
from textwrap import indent

from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.stmt import PrimFunc


class RandomThreads:
    """Generates programs of virtual threads t with nested threads u; a thread writes only its own
    part of O.
    """

    def __init__(self, rng: random.Random) -> None:
        self._rng = rng
        self._names = 0

    def program(self) -> PrimFunc:
        inside = self._statements("t", ("0",), ["X", "shared"], [], depth=0)
        body = f"""\
alloc shared: int64[4] @ acc
for s in 4:
  shared[s] = s + 1
for q in 2:
  for t in 3 virtual_thread:
{indent("".join(inside), "    ")}"""
        # Every statement that writes O has a slot of its own, the number of its name.
        head = f"func f(X: int64[4]) -> (O: int64[3, 2, {self._names + 1}, 4]):"
        return parse(f"{head}\n{indent(body, '  ')}")

    def _name(self, stem: str) -> str:
        self._names += 1
        return f"{stem}{self._names}"

    def _statements(
        self, thread: str, at: tuple[str, ...], read: list[str], write: list[str], depth: int
    ) -> list[str]:
        """Lines of statements; `read` are initialised buffers, `write` are the thread's buffers."""
        read, write = list(read), list(write)
        lines: list[str] = []
        for _ in range(self._rng.randint(1, 3) if depth else 4):
            lines += self._statement(thread, at, read, write, depth)
        return lines

    def _statement(
        self, thread: str, at: tuple[str, ...], read: list[str], write: list[str], depth: int
    ) -> list[str]:
        i, source = self._name("i"), self._rng.choice(read)
        kind = self._rng.randrange(7 if depth < 3 else 3)
        if kind == 0 or (kind == 1 and not write):
            name = self._name("b")
            lines = [f"alloc {name}: int64[4] @ {self._rng.choice(('inp', 'wgt', 'acc'))}\n"]
            read.append(name)
            write.append(name)
            return [*lines, f"for {i} in 4:\n", f"  {name}[{i}] = {source}[{i}] * 5 + {thread}\n"]
        if kind == 1:
            name = self._rng.choice(write)
            return [f"for {i} in 4:\n", f"  {name}[{i}] = {name}[{i}] * 3 + {source}[{i}]\n"]
        if kind == 2:
            slot = self._name("")
            place = f"t, {0 if thread == 't' else thread}, {slot}, {i}"
            return [f"for {i} in 4:\n", f"  O[{place}] = {source}[{i}] + {i}\n"]
        if kind in (3, 4):
            k = self._name("k")
            extents = ("2", f"3 - {thread}", f"{at[-1]} + {thread}", "q + 1")
            head, around = f"for {k} in {self._rng.choice(extents)}:\n", (*at, k)
        elif kind == 5 or thread != "t":
            tests = (f"{thread} < 1", f"1 <= {thread} + {at[-1]}", f"({at[-1]} < 1) & (q < 1)")
            head, around = f"if {self._rng.choice(tests)}:\n", at
        else:
            inner = self._name("u")
            inside = self._statements(inner, at, read, [], depth + 1)
            return [f"for {inner} in 2 virtual_thread:\n", *(f"  {each}" for each in inside)]
        inside = self._statements(thread, around, read, write, depth + 1)
        return [head, *(f"  {each}" for each in inside)]

"""Inner loops in assembly of AArch64 and RISC-V, and the products that they compute."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tandem.scripts.errors import CommandError

_LABEL = re.compile(r"^([.\w]+):")
_BRANCH = re.compile(
    r"^\s+(?:b(?:\.?\w+)?|cbn?z|tbn?z|j)\s+(?:.*,\s*)?(\.\w+)\s*$",
)
_COMMENT = re.compile(r"\s*(?://|#\s|#$|/\*).*$")
_INSTRUCTION = re.compile(r"^\s+([a-z][\w.]*)(?:\s+(.*))?$")
_ARRANGEMENT = re.compile(r"v\d+\.(\d+)[bhsd]")
_VECTOR_PRODUCTS = re.compile(r"f?mla|f?mls|f?mul|[su]ml[as]l2?|[su]mull2?")
_DOT_PRODUCTS = re.compile(r"[su]s?dot")
_DOT_DEPTH = 4
_SCALAR_PRODUCTS = re.compile(r"f?n?madd|f?n?msub|f?mul|[su]m(?:ul|add)l|fmadd\.s|fmul\.s|mulw?")


@dataclass(frozen=True, slots=True)
class Loop:
    """The instructions of an innermost loop, in assembly."""

    instructions: tuple[str, ...]

    @property
    def text(self) -> str:
        """The instructions, one a line."""
        return "".join(f"\t{each}\n" for each in self.instructions)

    @property
    def products(self) -> int:
        """The products of an iteration: those of vectors, beside which scalars multiply addresses;
        or those of scalars, if there are no vectors."""
        found = [_products(each) for each in self.instructions]
        return sum(lanes for lanes, _ in found) or sum(one for _, one in found)


def _products(instruction: str) -> tuple[int, int]:
    """The products of an instruction, in vectors and as a scalar."""
    name, _, operands = instruction.partition(" ")
    arrangement = _ARRANGEMENT.match(operands)
    if arrangement is None:
        return 0, int(bool(_SCALAR_PRODUCTS.fullmatch(name)))
    lanes = int(arrangement[1])
    if _DOT_PRODUCTS.fullmatch(name):
        return _DOT_DEPTH * lanes, 0
    return lanes * bool(_VECTOR_PRODUCTS.fullmatch(name)), 0


def hot_loop(assembly: str) -> Loop:
    """The innermost loop with the most products.

    A loop is what lies between a label and a branch back to it. Raises `CommandError` if no loop
    multiplies.
    """
    lines = [_COMMENT.sub("", line).rstrip() for line in assembly.splitlines()]
    loops = [_loop(lines[first : last + 1]) for first, last in _innermost(lines)]
    best = max(loops, key=lambda loop: loop.products, default=Loop(()))
    if not best.products:
        raise CommandError("no inner loop multiplies")
    return best


def _innermost(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The first and the last line of loops that contain no other loop."""
    labels, found = dict[str, int](), list[tuple[int, int]]()
    for number, line in enumerate(lines):
        if label := _LABEL.match(line):
            labels[label[1]] = number
        elif (branch := _BRANCH.match(line)) and branch[1] in labels:
            found.append((labels[branch[1]], number))
    for first, last in found:
        inside = [other for other in found if first <= other[0] and other[1] <= last]
        if inside == [(first, last)]:
            yield first, last


def _loop(lines: Sequence[str]) -> Loop:
    found = (_INSTRUCTION.match(line) for line in lines)
    return Loop(tuple(f"{each[1]} {each[2] or ''}".strip() for each in found if each))

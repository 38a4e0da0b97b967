"""A trampoline: mutually recursive functions without Python's stack, to any depth.

A function becomes a generator that yields a call where it would make one, and gets its result::

    def height(tree: Tree) -> Steps[int]:
        left: int = yield height(tree.left)
        right: int = yield height(tree.right)
        return 1 + max(left, right)

    run(height(tree))
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeAlias, TypeVar

T = TypeVar("T")

Steps: TypeAlias = Generator[Generator[Any, Any, Any], Any, T]
"""A call that has not been made: it yields the calls that it makes, and returns T."""


def run(call: Steps[T]) -> T:
    """The result of a call. An exception ends all calls: none of them can handle another's."""
    stack: list[Steps[Any]] = [call]
    result: Any = None
    while stack:
        try:
            inner = stack[-1].send(result)
        except StopIteration as end:
            stack.pop()
            result = end.value
        else:
            stack.append(inner)
            result = None
    return result

"""A compiled function's machine code: from the cache, or made now."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tandem.base.jit.annotations import declared
from tandem.base.jit.errors import CompilationError
from tandem.base.jit.module import module_text
from tandem.base.jit.native import load, machine_code, settings
from tandem.base.jit.sources import Source, digest_of
from tandem.base.jit.types import Type
from tandem.base.object_cache import ObjectCache
from tandem.base.sources import source_digest


def build(
    source: Source, kinds: Sequence[Type], report: Callable[[str], None] | None
) -> tuple[Callable[[int], None], Type]:
    """The machine code of a function for arguments of these types, and the type of its result.

    It is kept on disk under a digest of all that determines it.

    Raises
    ------
    CompilationError
        If the function, or one that it calls, is outside the part of Python that is compiled.
    """
    result = declared(source.python)
    if result is None:
        raise CompilationError(
            f"{source.python.__qualname__} is called from Python, and its annotation does not "
            "say whether it returns numbers, tuples of them, or None"
        )

    def make() -> bytes:
        if report is not None:
            report(source.python.__qualname__)
        return machine_code(module_text(source, kinds))

    parts = (*settings(), _translator_digest(), digest_of(source), repr(kinds))
    return load(ObjectCache.default().object_of(parts, make)), result


def _translator_digest() -> str:
    """A digest of the source that makes machine code of functions."""
    return source_digest(
        "tandem.base.jit.module", "tandem.base.jit.native", within=("tandem.base.jit",)
    )

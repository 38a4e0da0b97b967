"""The source of functions to compile: their syntax trees, what their names mean, and digests."""

from __future__ import annotations

import ast
import builtins
import hashlib
import linecache
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from types import CodeType, FunctionType, ModuleType
from typing import Any

from tandem.base.jit.errors import CompilationError

Tree = ast.FunctionDef | ast.Lambda


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A function to compile.

    Attributes
    ----------
    python
        The function in Python, a `FunctionType`.
    inline
        Whether it becomes a part of each compiled caller.
    llvm
        What it is in LLVM's language, with the parameters %p0, %p1, ...; "" for a translation.
    """

    python: Any
    inline: bool = False
    llvm: str = ""


def source_of(value: object) -> Source | None:
    """The source of a function with one of the decorators of `base.jit`; None of anything else."""
    source = getattr(value, "source", None)
    return source if isinstance(source, Source) else None


_Key = tuple[object, ...]


def tree_of(function: FunctionType) -> Tree:
    """The syntax tree of a function that was written in a file.

    Raises
    ------
    CompilationError
        If the file is not there, or has changed since the function was imported.
    """
    code = function.__code__
    found = _trees(code.co_filename).get(_key(code))
    if found is None:
        raise CompilationError(
            f"{code.co_filename}:{code.co_firstlineno}: the source of {code.co_name} is not there, "
            "or has changed since it was imported: start again",
            placed=True,
        )
    return found


@cache
def _trees(path: str) -> dict[_Key, Tree]:
    """The functions in a file."""
    module = ast.parse("".join(linecache.getlines(path)), path)
    codes: dict[tuple[int, str], list[CodeType]] = {}
    for code in _codes(compile(module, path, "exec", dont_inherit=True)):
        codes.setdefault((code.co_firstlineno, code.co_name), []).append(code)
    found: dict[_Key, Tree] = {}
    for node in ast.walk(module):
        match node:
            case ast.FunctionDef(name=name, decorator_list=[first, *_]):
                line = first.lineno
            case ast.FunctionDef(name=name, lineno=line):
                pass
            case ast.Lambda(lineno=line):
                name = "<lambda>"
            case _:
                continue
        # Of two lambdas in a line nobody knows which is which.
        if len(here := codes.get((line, name), [])) == 1:
            found[_key(here[0])] = node
    return found


def _codes(module: CodeType) -> Iterator[CodeType]:
    """The code of all functions in a module, or in a function."""
    for constant in module.co_consts:
        if isinstance(constant, CodeType):
            yield constant
            yield from _codes(constant)


def _key(code: CodeType) -> _Key:
    """What tells a function from all others in a file, and from an edited version of itself."""
    constants = [repr(each) for each in code.co_consts if not isinstance(each, CodeType)]
    place = code.co_firstlineno, code.co_name
    return *place, code.co_code, code.co_names, code.co_varnames, *constants


def meaning(function: FunctionType, name: str) -> Any:
    """What a name that is no variable of `function` means in it.

    Raises
    ------
    CompilationError
        If nothing has the name.
    """
    free = function.__code__.co_freevars
    if name in free:
        assert function.__closure__ is not None
        return function.__closure__[free.index(name)].cell_contents
    for names in (function.__globals__, vars(builtins)):
        if name in names:
            return names[name]
    raise CompilationError(f"{function.__qualname__} names {name}, which nothing defines")


def digest_of(source: Source) -> str:
    """A digest of all that a compiled function does: its bytecode, that of the functions that it
    calls, and the values that their names have."""
    digest = hashlib.sha256()
    numbers: dict[int, int] = {}

    def add(value: Any) -> None:
        match value:
            case Source():
                digest.update(f"{value.inline} {value.llvm};".encode())
                add_function(value.python)
            case ModuleType() | type():
                digest.update(value.__name__.encode())
            case int():
                digest.update(f"{type(value) is bool} {int(value)};".encode())
            case float() | str() | None:
                digest.update(f"{value!r};".encode())
            case tuple():
                digest.update(f"tuple {len(value)}".encode())
                for item in value:
                    add(item)
            case _ if (called := source_of(value)) is not None:
                add(called)
            case _:
                digest.update(type(value).__name__.encode())

    def add_function(called: FunctionType) -> None:
        known = id(called) in numbers
        number = numbers.setdefault(id(called), len(numbers))
        digest.update(f"function {number};".encode())
        if known:
            return
        code = called.__code__
        digest.update(code.co_code + repr(code.co_varnames).encode())
        for constant in code.co_consts:
            if not isinstance(constant, CodeType):
                add(constant)
        digest.update(str(called.__annotations__.get("return")).encode())
        modules = []
        for name in (*code.co_names, *code.co_freevars):
            digest.update(name.encode() + b";")
            try:
                value = meaning(called, name)
            except CompilationError:
                continue
            add(value)
            if isinstance(value, ModuleType):
                modules.append(value)
        for module in modules:
            for name in code.co_names:
                if name in vars(module):
                    add(vars(module)[name])

    add(source)
    return digest.hexdigest()

"""A compiler of typed Python functions: plain loops over numbers and arrays, to machine code.

A function with the decorator `compiled` is compiled at its first call, for the types of its
arguments, with all that it calls. The machine code is kept in the user's cache
(`base.object_cache`). `base.jit.translator` says which part of Python it is; nothing is inferred
but the types of variables, which begin with those of arguments, so that a thousand lines take a
second. With TANDEM_JIT=0 in the environment the functions run as plain Python.
"""

from tandem.base.jit.errors import CompilationError
from tandem.base.jit.functions import Compiled, compiled, in_llvm, inlined, prepare, reported

__all__ = [
    "CompilationError",
    "Compiled",
    "compiled",
    "in_llvm",
    "inlined",
    "prepare",
    "reported",
]

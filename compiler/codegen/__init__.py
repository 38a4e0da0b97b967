"""CPU code from the loop language, through LLVM.

Integers and bools come out as the language says, to the last bit. Of floats, every operation is
rounded as IEEE 754 asks, with two exceptions, and neither depends on the kinds or the order of
loops:

- `x + a * b` and `a * b + x` are rounded once on a target with `fma`. It is the expression that
  decides: a schedule that inlines a product into a sum makes such an expression, and may thereby
  change a last bit.
- Functions such as `exp` are as exact as `elementary` or the C library makes them, the same in one
  lane and in many.

Sums across lanes add in another order; a schedule has to ask for that (`reassociate`).
"""

from compiler.codegen.compile import compile_function, emit_object
from compiler.codegen.cpu_target import CpuTarget
from runtime.native import NativeFunction, ObjectCode, Parameter, ThreadPool, load

__all__ = [
    "CpuTarget",
    "NativeFunction",
    "ObjectCode",
    "Parameter",
    "ThreadPool",
    "compile_function",
    "emit_object",
    "load",
]

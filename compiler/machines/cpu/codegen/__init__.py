"""CPU code generation: loop programs become native functions through LLVM.

Integers and bools are exact. Every operation on floats is rounded as IEEE 754 says, with two
exceptions, which depend neither on the kinds nor on the order of loops:

- `x + a * b` and `a * b + x` are rounded once on a target with `fma`. The expression decides: a
  schedule that inlines a product into a sum makes such an expression, and may change a last bit.
- `exp` and the like have the errors of `math_functions` or the C library, the same in scalar and
  vector code.

Sums across lanes are reassociated, in schedules with `reassociate` only.
"""

from tandem.compiler.machines.cpu.codegen.compile import compile_function, emit_object
from tandem.compiler.machines.cpu.codegen.cpu_target import CpuTarget
from tandem.runtime.native import NativeFunction, ObjectCode, Parameter, ThreadPool, load

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

"""Dot products of bytes in OpenCL C: a function of two vectors, which it computes term by term.

OpenCL C 1.2 has no such instruction; a device's compiler may know one for the function's body.
"""

from __future__ import annotations

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.expr import Load
from tandem.compiler.ir.interval import Ranges
from tandem.compiler.ir.stmt import Invoke, Region
from tandem.compiler.machines.gpu.codegen.opencl_expressions import Expressions
from tandem.compiler.machines.gpu.codegen.opencl_types import c_type
from tandem.compiler.machines.gpu.intrinsics import DOT_TERMS, is_aligned, is_dense


def dot_statement(invoke: Invoke, of: Expressions, ranges: Ranges) -> str:
    """The statement of one of `DOT_PRODUCTS`. Raises `CodegenError` if the bytes of a factor are no
    neighbours in memory."""
    sums, *factors = invoke.operands
    function = of.functions.dot_product(*(each.buffer.dtype for each in factors))
    c = of.element(sums.buffer, sums.lower, ranges)
    a, b = (_vector(invoke, each, of, ranges) for each in factors)
    return f"{c} = {function}({a}, {b}, {of.text(Load(sums.buffer, sums.lower), ranges)});"


def _vector(invoke: Invoke, region: Region, of: Expressions, ranges: Ranges) -> str:
    """The bytes of a factor as a vector, in one access where it is known to be aligned."""
    if not is_dense(region, (DOT_TERMS,)):
        raise CodegenError(
            f"{invoke.intrinsic.name}: bytes of {region.buffer.name} are no neighbours"
        )
    address = f"&{of.element(region.buffer, region.lower, ranges)}"
    kind = f"{c_type(region.buffer.dtype)}{DOT_TERMS}"
    if is_aligned(region, DOT_TERMS):
        return f"*(local const {kind} *){address}"
    return f"vload{DOT_TERMS}(0, {address})"

"""Launches as OpenCL C: a text of kernels, each of which is one launch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import assert_never

from tandem.compiler.errors import CodegenError
from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.facts import facts
from tandem.compiler.ir.interval_ops import Interval
from tandem.compiler.ir.stmt import (
    Alloc,
    Block,
    For,
    If,
    Invoke,
    LoopKind,
    PrimFunc,
    Seq,
    Stmt,
    Store,
    parameters,
)
from tandem.compiler.ir.visit import buffers_in, expressions, loops, statements, subexpressions
from tandem.compiler.lower.ranges import loop_range
from tandem.compiler.machines.gpu.codegen.opencl_dots import dot_statement
from tandem.compiler.machines.gpu.codegen.opencl_expressions import (
    Expressions,
    fits_int,
    is_double,
)
from tandem.compiler.machines.gpu.codegen.opencl_functions import Functions
from tandem.compiler.machines.gpu.codegen.opencl_types import stored_type
from tandem.compiler.machines.gpu.codegen.opencl_vectors import vector_copy
from tandem.compiler.machines.gpu.intrinsics import behaviour, is_dot_product
from tandem.compiler.machines.gpu.launch import BLOCK, THREAD, GpuProgram, grid_of, is_barrier
from tandem.compiler.machines.gpu.warps import KNOWN, is_warp_product

_INDENT = "  "
_DOUBLE = "#pragma OPENCL EXTENSION cl_khr_fp64 : enable"
_NO_CONTRACTION = "#pragma OPENCL FP_CONTRACT OFF"
"""A product and a sum round twice, as the loop language defines them."""
OPTIONS = ("-cl-std=CL1.2", "-cl-fp32-correctly-rounded-divide-sqrt")
"""What the device's compiler is told: to round quotients and roots as IEEE 754 does."""


def kernel_name(launch: PrimFunc) -> str:
    """The name of a launch's kernel, unlike any of OpenCL's own."""
    return f"tandem_{_plain(launch.name)}"


def opencl_text(program: GpuProgram) -> str:
    """The OpenCL C of a program: a kernel for each launch, whose arguments are the launch's buffers
    (`ir.stmt.parameters`); to be launched with its grid's blocks, of its grid's threads.

    Raises
    ------
    CodegenError
        If a launch has an operation that OpenCL C does not have.
    """
    functions = Functions()
    kernels = [line for launch in program.launches for line in _kernel(launch, functions)]
    uses_double = any(
        is_double(part.dtype)
        for launch in program.launches
        for stmt in statements(launch.body)
        for expr in expressions(stmt)
        for part in subexpressions(expr)
    ) or any(is_double(each.dtype) for launch in program.launches for each in buffers_in(launch))
    head = [_DOUBLE] * uses_double + [_NO_CONTRACTION, *functions.texts.values()]
    return "".join(f"{line}\n" for line in (*head, *kernels))


def _plain(name: str) -> str:
    return "".join(each if each.isalnum() else "_" for each in name)


def _names(launch: PrimFunc) -> dict[str, str]:
    """The names of buffers and variables in the text, none of which is a word of OpenCL."""
    found: dict[str, str] = {}
    taken: set[str] = set()
    wanted = [(each.name, "b") for each in buffers_in(launch)]
    wanted += [(each.var.name, "i") for each in loops(launch.body)]
    invoked = dict.fromkeys(each for each in statements(launch.body) if is_warp_product(each))
    parts = {each.intrinsic.name: each.intrinsic for each in invoked if isinstance(each, Invoke)}
    wanted += [(each.var.name, "i") for part in parts.values() for each in loops(part.body)]
    for name, prefix in wanted:
        text = f"{prefix}_{_plain(name)}"
        while text in taken:
            text += "_"
        taken.add(text)
        found[name] = text
    return found


def _kernel(launch: PrimFunc, functions: Functions) -> Iterator[str]:
    grid = grid_of(launch)
    names = _names(launch)
    short = all(each.size < 1 << 31 for each in buffers_in(launch)) and _fits_int(launch.body, {})
    of = Expressions(names, "int" if short else "long", functions)
    writes = facts(launch.body).writes
    arguments = ", ".join(
        f"global {'' if buffer.name in writes else 'const '}{stored_type(buffer.dtype)} "
        f"*restrict {names[buffer.name]}"
        for buffer in parameters(launch)
    )
    yield f"kernel __attribute__((reqd_work_group_size({grid.threads}, 1, 1)))"
    yield f"void {kernel_name(launch)}({arguments}) {{"
    for buffer in grid.shared:
        yield f"{_INDENT}local {_declaration(buffer, names)} __attribute__((aligned(16)));"
    for var, call in ((BLOCK, "get_group_id(0)"), (THREAD, "get_local_id(0)")):
        yield f"{_INDENT}const {of.index} {names[var.name]} = {call};"
    ranges = {
        BLOCK.name: Interval(0, grid.blocks - 1),
        THREAD.name: Interval(0, grid.threads - 1),
    }
    exchanged = writes & facts(launch.body).reads & {each.name for each in parameters(launch)}
    fences = "CLK_LOCAL_MEM_FENCE" + " | CLK_GLOBAL_MEM_FENCE" * bool(exchanged)
    for line in _statement(grid.body, of, ranges, fences):
        yield _INDENT + line
    yield "}"


def _fits_int(stmt: Stmt, ranges: dict[str, Interval]) -> bool:
    """Whether indices fit in 32 bits."""
    if isinstance(stmt, For):
        ranges = {**ranges, stmt.var.name: loop_range(stmt, ranges)}
        return all(fits_int(each, ranges) for each in expressions(stmt)) and _fits_int(
            stmt.body, ranges
        )
    if not all(fits_int(each, ranges) for each in expressions(stmt)):
        return False
    match stmt:
        case Seq(body=parts):
            return all(_fits_int(each, ranges) for each in parts)
        case If(body=body) | Alloc(body=body):
            return _fits_int(body, ranges)
        case _:
            return True


def _declaration(buffer: Buffer, names: Mapping[str, str]) -> str:
    return f"{stored_type(buffer.dtype)} {names[buffer.name]}[{max(buffer.size, 1)}]"


def _statement(
    stmt: Stmt, of: Expressions, ranges: dict[str, Interval], fences: str
) -> Iterator[str]:
    match stmt:
        case Store(buffer=buffer, indices=indices, value=value):
            yield f"{of.element(buffer, indices, ranges)} = {of.text(value, ranges)};"
        case Seq(body=body):
            for part in body:
                yield from _statement(part, of, ranges, fences)
        case For() if (copy := vector_copy(stmt, of, ranges)) is not None:
            yield copy
        case For(var=var, extent=extent, kind=kind, body=body):
            name = of.names[var.name]
            if kind in (LoopKind.UNROLLED, LoopKind.VECTORIZED):
                yield "#pragma unroll"
            limit = of.text(extent, ranges)
            yield f"for ({of.index} {name} = 0; {name} < {limit}; ++{name}) {{"
            inside = {**ranges, var.name: loop_range(stmt, ranges)}
            for line in _statement(body, of, inside, fences):
                yield _INDENT + line
            yield "}"
        case If(condition=condition, body=body):
            yield f"if {_parenthesised(of.text(condition, ranges))} {{"
            for line in _statement(body, of, ranges, fences):
                yield _INDENT + line
            yield "}"
        case Alloc(buffer=buffer, body=body):
            yield f"{_declaration(buffer, of.names)};"
            yield from _statement(body, of, ranges, fences)
        case Invoke() if is_barrier(stmt):
            yield f"barrier({fences});"
        case Invoke() if is_dot_product(stmt):
            yield dot_statement(stmt, of, ranges)
        case Invoke() if is_warp_product(stmt):
            # Each lane computes the sums that it holds: there is no such instruction.
            yield from _statement(behaviour(stmt), of, ranges, fences)
        case Invoke() | Block():
            raise CodegenError(f"launches have no {type(stmt).__name__}, but {KNOWN}")
        case _:
            assert_never(stmt)


def _parenthesised(text: str) -> str:
    return text if text.startswith("(") and text.endswith(")") else f"({text})"

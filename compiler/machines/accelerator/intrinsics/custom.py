"""Tensor instructions of the ALU operations that a configuration brings along."""

from __future__ import annotations

from collections.abc import Iterator

from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.dtypes import INT8, INT32, INT64
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.ops import cast, const, load, maximum, minimum
from tandem.compiler.machines.accelerator.intrinsics.base import (
    AluStep,
    TensorInstruction,
    accumulators,
    element_function,
)
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.hw.alu_terms import Cast, apply_operator, fold
from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import CustomOperation
from tandem.hw.features import Feature


def custom_instructions(config: HardwareConfig) -> Iterator[TensorInstruction]:
    """The instructions of a machine's custom operations."""
    for operation in config.alu_operations:
        if not operation.reads_second:
            yield custom_unary(config, operation)
            continue
        yield custom_binary(config, operation, OnChip.ACC)
        if operation.immediate_operand:
            yield custom_binary(config, operation, OnChip.IMM)
        if Feature.INPUT_OPERANDS in config.features:
            yield custom_binary(config, operation, OnChip.INP)


def custom_unary(config: HardwareConfig, operation: CustomOperation) -> TensorInstruction:
    """`C[b, o] = operation(A[b, o])`; its parameters are the number I."""
    a, parameters = accumulators("A", config), _parameters(operation)

    def value(b: Expr, o: Expr) -> Expr:
        first = load(a, b, o)
        return custom_value(operation, first, first, *map(load, parameters))

    name = f"alu_{operation.name.lower()}"
    function = element_function(config, name, (a, *parameters), value)
    step = AluStep(operation, "C", parameters[0].name if parameters else 0)
    return TensorInstruction(function, "A", (step,))


def custom_binary(
    config: HardwareConfig, operation: CustomOperation, scope: Scope
) -> TensorInstruction:
    """`C[b, o] = operation(A[b, o], B[b, o])`, with B in `scope`: an accumulator, of int8 in INP,
    or a number in IMM; parameters are the number I."""
    a, parameters = accumulators("A", config), _parameters(operation)
    match scope:
        case OnChip.INP:
            second = Buffer("B", (config.batch, config.block_in), INT8, scope)
        case OnChip.IMM:
            second = Buffer("B", (), INT32, scope)
        case _:
            second = accumulators("B", config)

    def value(b: Expr, o: Expr) -> Expr:
        read = load(second) if scope == OnChip.IMM else cast(load(second, b, o), INT32)
        return custom_value(operation, load(a, b, o), read, *map(load, parameters))

    suffix = "" if scope == OnChip.ACC else f"_{scope.value}"
    name = f"alu_{operation.name.lower()}{suffix}"
    function = element_function(config, name, (a, second, *parameters), value)
    step = AluStep(operation, "C", "B", parameters[0].name if parameters else None)
    needs = frozenset({Feature.INPUT_OPERANDS} if scope == OnChip.INP else ())
    return TensorInstruction(function, "A", (step,), needs)


def custom_value(
    operation: CustomOperation, a: Expr, b: Expr, immediate: Expr | None = None
) -> Expr:
    """The result of an operation on two accumulators, with the parameters in an immediate."""
    named = {"a": cast(a, INT64), "b": cast(b, INT64)}
    lowest = 0
    if immediate is not None:
        immediate = cast(immediate, INT64)
    for parameter in operation.parameters:
        assert immediate is not None
        bits = immediate >> lowest
        named[parameter.name] = _low_bits(bits, parameter.width, signed=parameter.signed)
        lowest += parameter.width
    value = fold(
        operation.result,
        lambda name: named[name],
        lambda value: const(value, INT64),
        lambda op, left, right: apply_operator(op, left, right, minimum, maximum),
        _cast,
    )
    return cast(value, INT32)


def _cast(one: Cast, value: Expr) -> Expr:
    if one.saturates:
        low, high = (const(limit, INT64) for limit in one.limits)
        return minimum(maximum(value, low), high)
    return _low_bits(value, one.width, signed=one.signed)


def _low_bits(value: Expr, width: int, *, signed: bool) -> Expr:
    """The number that the low bits of a value are, in two's complement if `signed`."""
    values, half = 1 << width, 1 << width - 1
    return (value + half) % values - half if signed else value % values


def _parameters(operation: CustomOperation) -> tuple[Buffer, ...]:
    """The number that holds the parameters; none if there are none."""
    return (Buffer("I", (), INT32, OnChip.IMM),) if operation.parameters else ()

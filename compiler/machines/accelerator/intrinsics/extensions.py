"""Tensor instructions of the accelerator's features: operands in INP, and requantisation.

A parameter of requantisation is a channel's word, as `hw.parameter_word` says: an addend C, a
multiplier M and a shift S.
"""

from __future__ import annotations

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import INT8, INT32, INT64
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.ops import cast, load, maximum, minimum
from tandem.compiler.machines.accelerator.intrinsics.base import (
    BINARY,
    AluStep,
    RequantiseStep,
    TensorInstruction,
    accumulators,
    alu_value,
    element_function,
)
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature
from tandem.hw.operations import MAX_SHIFT, AluOp
from tandem.hw.parameter_word import ADDEND_BITS, MULTIPLIER_BITS

_MULTIPLIER_AT = ADDEND_BITS
_SHIFT_AT = _MULTIPLIER_AT + MULTIPLIER_BITS

_OPERANDS = frozenset({Feature.INPUT_OPERANDS})
_REQUANTISE = frozenset({Feature.REQUANTISE})


def extension_instructions(config: HardwareConfig) -> tuple[TensorInstruction, ...]:
    """The instructions of a machine's features."""
    found: tuple[TensorInstruction, ...] = ()
    if _OPERANDS <= config.features:
        found += (*(alu_input(config, op) for op in BINARY), move_input(config))
    if _REQUANTISE <= config.features:
        found += (requantise(config),)
    if _REQUANTISE | _OPERANDS <= config.features:
        found += (requantise_add(config),)
    return found


def alu_input(config: HardwareConfig, op: AluOp) -> TensorInstruction:
    """`C[b, o] = op(A[b, o], B[b, o])` with B, of int8, in INP."""
    a, b = accumulators("A", config), _input("B", config)
    name = f"alu_{op.name.lower()}_inp"
    function = element_function(
        config,
        name,
        (a, b),
        lambda *at: alu_value(op, load(a, *at), cast(load(b, *at), INT32)),
    )
    return TensorInstruction(function, "A", (AluStep(op, "C", "B"),), _OPERANDS)


def move_input(config: HardwareConfig) -> TensorInstruction:
    """`C[b, o] = B[b, o]` with B, of int8, in INP."""
    b = _input("B", config)
    function = element_function(config, "alu_move_inp", (b,), lambda *at: cast(load(b, *at), INT32))
    return TensorInstruction(function, None, (AluStep(AluOp.MOVE, "C", "B"),), _OPERANDS)


def requantise(config: HardwareConfig) -> TensorInstruction:
    """`C[b, o] = clip((A[b, o] * M[o] + C[o]) >> S[o], low, high)`, exactly; M, C and S are in
    `P[o]`. C has to be A's place: see `RequantiseStep`."""
    a, p = accumulators("A", config), _parameters(config)
    low, high = _immediate("L"), _immediate("H")

    def value(b: Expr, o: Expr) -> Expr:
        return requantised(load(a, b, o), load(p, o), load(low), load(high))

    function = element_function(config, "requantise", (a, p, low, high), value)
    return TensorInstruction(function, "A", (RequantiseStep("C", "P", "L", "H"),), _REQUANTISE)


def requantise_add(config: HardwareConfig) -> TensorInstruction:
    """`C[b, o] = clip((A[b, o] * M[o] + C[o] + K[b, o] * N) >> S[o], low, high)`, exactly, with K,
    of int8, in INP and N an immediate; as `requantise`."""
    a, p, k = accumulators("A", config), _parameters(config), _input("K", config)
    low, high, scale = (_immediate(each) for each in "LHN")

    def value(b: Expr, o: Expr) -> Expr:
        added = load(k, b, o), load(scale)
        return requantised(load(a, b, o), load(p, o), load(low), load(high), added)

    function = element_function(config, "requantise_add", (a, p, k, low, high, scale), value)
    step = RequantiseStep("C", "P", "L", "H", "K", "N")
    return TensorInstruction(function, "A", (step,), _REQUANTISE | _OPERANDS)


def requantised(
    total: Expr, word: Expr, low: Expr, high: Expr, added: tuple[Expr, Expr] | None = None
) -> Expr:
    """The value of `requantise`, or with `added`, a residual and its scale, of `requantise_add`."""
    multiplier = (word >> _MULTIPLIER_AT) % (1 << MULTIPLIER_BITS)
    shift = (word >> _SHIFT_AT) % (MAX_SHIFT + 1)
    value = cast(total, INT64) * multiplier + cast(cast(word, INT32), INT64)
    if added is not None:
        residual, scale = added
        value = value + cast(residual, INT64) * cast(scale, INT64)
    clipped = minimum(maximum(value >> shift, cast(low, INT64)), cast(high, INT64))
    return cast(clipped, INT32)


def parameter_word(multiplier: int, addend: int, shift: int) -> int:
    """A channel's parameters as a word of PAR. `multiplier` has MULTIPLIER_BITS bits, `addend` fits
    int32 and `shift` lies in 0..MAX_SHIFT."""
    return addend % (1 << ADDEND_BITS) | multiplier << _MULTIPLIER_AT | shift << _SHIFT_AT


def _input(name: str, config: HardwareConfig) -> Buffer:
    return Buffer(name, (config.batch, config.block_in), INT8, OnChip.INP)


def _parameters(config: HardwareConfig) -> Buffer:
    return Buffer("P", (config.block_out,), INT64, OnChip.PAR)


def _immediate(name: str) -> Buffer:
    return Buffer(name, (), INT32, OnChip.IMM)

"""The accelerator's tensor instructions: their behaviour, and the micro-ops that implement it.

An instruction works on whole elements of on-chip memories, of [batch, block] values, and loops
around it become the loops of a GEMM or ALU instruction. Its behaviour is a program of the loop
language, which `tensorize` compares with a schedule's; its lowering is a tuple of steps. A new
instruction is declared without touching the compiler: a `TensorInstruction` value, given to
`AcceleratorTarget.with_instructions`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.dtypes import INT8, INT32
from tandem.compiler.ir.expr import Const, Expr, Var
from tandem.compiler.ir.ops import cast, const, index, load, maximum, minimum, select
from tandem.compiler.ir.stmt import For, LoopKind, PrimFunc, Store
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.hw.config import HardwareConfig
from tandem.hw.custom_operations import AnyOperation
from tandem.hw.encoding import alu_layout
from tandem.hw.features import Feature
from tandem.hw.operations import MAX_SHIFT, AluOp


@dataclass(frozen=True, slots=True)
class GemmStep:
    """`dst += src x wgt^T`; operands are named as the behaviour's parameters."""

    dst: str
    src: str
    wgt: str


@dataclass(frozen=True, slots=True)
class ResetStep:
    """`dst = 0`."""

    dst: str


@dataclass(frozen=True, slots=True)
class AluStep:
    """`dst = op(dst, src)`: `src` is another operand, in ACC or INP, an immediate, or a parameter
    in the scope IMM, whose value each operator supplies. `parameters` is such a parameter, too: it
    has the parameters of a custom operation whose second operand is in memory."""

    op: AnyOperation
    dst: str
    src: str | int
    parameters: str | None = None


@dataclass(frozen=True, slots=True)
class RequantiseStep:
    """`dst = clip((dst * M + C + added * scale) >> S, low, high)`, without `added * scale` if
    `added` is None. `low`, `high` and `scale` are parameters in the scope IMM.

    The result exists in OUT only, for the STORE: ACC keeps the sum.
    """

    dst: str
    parameters: str
    low: str
    high: str
    added: str | None = None
    scale: str | None = None

    @property
    def immediates(self) -> tuple[str, ...]:
        """The parameters in IMM."""
        return (self.low, self.high, *(() if self.scale is None else (self.scale,)))


Step: TypeAlias = GemmStep | ResetStep | AluStep | RequantiseStep


FILL_FACTOR = 2**15 - 1
"""The factor of initial values that are products: the greatest number of an ALU instruction."""


@dataclass(frozen=True, slots=True)
class TensorInstruction:
    """A tensor intrinsic of the accelerator.

    Attributes
    ----------
    function
        The behaviour: loops around one statement. Parameters lie in the scope INP, WGT, ACC or PAR;
        an immediate, which is a scalar, in IMM.
    start
        The parameter that initialises the output before the steps: by a copy, unless both are the
        same box. None if the steps do not read the output's old values.
    steps
        The operations of the machine, first to last.
    features
        The hardware features that the instruction needs.
    """

    function: PrimFunc
    start: str | None
    steps: tuple[Step, ...]
    features: frozenset[Feature] = frozenset()

    def __post_init__(self) -> None:
        """Raises `LoweringError` for operands in a scope that the machine cannot access."""
        (output,) = self.function.outputs
        for step in self.steps:
            self._check("the output", step.dst, OnChip.ACC)
            if step.dst != output.name:
                raise LoweringError(f"{self.name} changes {step.dst}; its output is {output.name}")
            if isinstance(step, GemmStep):
                self._check("src of a GEMM", step.src, OnChip.INP)
                self._check("wgt of a GEMM", step.wgt, OnChip.WGT)
            elif isinstance(step, AluStep) and isinstance(step.src, str):
                scopes = OnChip.ACC, OnChip.INP, OnChip.IMM
                self._check("an operand of the ALU", step.src, *scopes)
                if step.parameters is not None:
                    self._check("the parameters of an operation", step.parameters, OnChip.IMM)
            elif isinstance(step, RequantiseStep):
                self._check("the parameters", step.parameters, OnChip.PAR)
                for name in step.immediates:
                    self._check("an immediate", name, OnChip.IMM)
                if step.added is not None:
                    self._check("an operand of the ALU", step.added, OnChip.INP)
        if self.start is not None:
            self._check("the start value", self.start, OnChip.ACC)

    def _check(self, role: str, name: str, *scopes: Scope) -> None:
        found = {each.name: each.scope for each in (*self.function.inputs, *self.function.outputs)}
        if name not in found:
            names = ", ".join(found)
            raise LoweringError(f"{self.name} has no parameter {name}; it has {names}")
        if found[name] not in scopes:
            allowed = " or ".join(each.value for each in scopes)
            raise LoweringError(
                f"{self.name}: {name}, {role}, is in {found[name].value}, not in {allowed}"
            )

    @property
    def name(self) -> str:
        """The name by which programs call the instruction."""
        return self.function.name


def gemm(config: HardwareConfig) -> TensorInstruction:
    """`C[b, o] += sum over i of A[b, i] * B[o, i]`: a micro-op of the GEMM array."""
    acc = accumulators("C", config)
    inp = Buffer("A", (config.batch, config.block_in), INT8, OnChip.INP)
    wgt = Buffer("B", (config.block_out, config.block_in), INT8, OnChip.WGT)
    b, o, i = Var("gemm.b"), Var("gemm.o"), Var("gemm.i")
    product = cast(load(inp, b, i), INT32) * cast(load(wgt, o, i), INT32)
    stmt = Store(acc, (b, o), load(acc, b, o) + product)
    loop = For(i, index(config.block_in), LoopKind.SERIAL, stmt)
    loop = For(o, index(config.block_out), LoopKind.SERIAL, loop)
    loop = For(b, index(config.batch), LoopKind.SERIAL, loop)
    function = PrimFunc("gemm", (acc, inp, wgt), (acc,), loop)
    return TensorInstruction(function, "C", (GemmStep("C", "A", "B"),))


def alu_binary(config: HardwareConfig, op: AluOp) -> TensorInstruction:
    """`C[b, o] = op(A[b, o], B[b, o])`: a micro-op of the ALU."""
    function = element_program(
        config, f"alu_{op.name.lower()}", lambda a, b: alu_value(op, a, b), "A", "B"
    )
    return TensorInstruction(function, "A", (AluStep(op, "C", "B"),))


def immediate(config: HardwareConfig, op: AluOp, value: int) -> TensorInstruction:
    """`C[b, o] = op(A[b, o], value)`: one instruction per number, with the number in its name.

    Raises
    ------
    LoweringError
        For a number that does not fit the field of the instruction, and for shifts outside
        0..MAX_SHIFT.
    """
    check_immediate(config, op, value)
    name = f"alu_{op.name.lower()}_imm_{'m' if value < 0 else ''}{abs(value)}"
    function = element_program(config, name, lambda a: alu_value(op, a, const(value, INT32)), "A")
    return TensorInstruction(function, "A", (AluStep(op, "C", value),))


def immediate_argument(config: HardwareConfig, op: AluOp) -> TensorInstruction:
    """`C[b, o] = op(A[b, o], I[])`: as `immediate`, with a number that each operator supplies."""
    name = f"alu_{op.name.lower()}_imm"
    argument = Buffer("I", (), INT32, OnChip.IMM)
    function = element_program(config, name, lambda a: alu_value(op, a, load(argument)), "A")
    function = replace(function, inputs=(*function.inputs, argument))
    return TensorInstruction(function, "A", (AluStep(op, "C", "I"),))


def fill(config: HardwareConfig, value: int) -> TensorInstruction:
    """`C[b, o] = value`: initialises reductions. Beyond what an instruction carries, multiples of
    `FILL_FACTOR` are products.

    Raises
    ------
    LoweringError
        For other numbers that do not fit.
    """
    product = abs(value) > FILL_FACTOR + 1 and not value % FILL_FACTOR
    moved = value // FILL_FACTOR if product else value
    check_immediate(config, AluOp.ADD, moved)
    name = f"fill_{'m' if value < 0 else ''}{abs(value)}"
    function = element_program(config, name, lambda: const(value, INT32))
    steps: tuple[Step, ...] = (ResetStep("C"),)
    if moved and AluOp.MOVE in config.operations:
        steps = (AluStep(AluOp.MOVE, "C", moved),)
    elif moved:
        steps = (*steps, AluStep(AluOp.ADD, "C", moved))
    if product:
        steps = (*steps, AluStep(AluOp.MUL, "C", FILL_FACTOR))
    return TensorInstruction(function, None, steps)


BINARY = tuple(op for op in AluOp if not op.needs)
"""The operations whose results depend on both operands: those of every machine."""


def base_instructions(config: HardwareConfig) -> tuple[TensorInstruction, ...]:
    """The base instruction set, without `immediate` and `fill`, which depend on a number."""
    by_operation = (alu_binary, immediate_argument)
    return (gemm(config), *(make(config, op) for make in by_operation for op in BINARY))


def immediate_by_name(config: HardwareConfig, name: str) -> TensorInstruction | None:
    """The instruction of this name that `immediate` or `fill` makes; None for any other name.

    Raises
    ------
    LoweringError
        For a number that `immediate` or `fill` refuses.
    """
    found = re.fullmatch(r"(?:fill|alu_([a-z]+)_imm)_(m?)(0|[1-9][0-9]*)", name)
    if found is None or name.endswith("_m0"):
        return None
    op, minus, digits = found.groups()
    value = -int(digits) if minus else int(digits)
    if op is None:
        return fill(config, value)
    known = {each.name: each for each in BINARY}
    return immediate(config, known[op.upper()], value) if op.upper() in known else None


def element_program(
    config: HardwareConfig, name: str, value: Callable[..., Expr], *inputs: str
) -> PrimFunc:
    """The behaviour `C[b, o] = value(inputs[b, o]...)` of an instruction on accumulators."""
    sources = tuple(accumulators(each, config) for each in inputs)
    return element_function(
        config, name, sources, lambda b, o: value(*(load(each, b, o) for each in sources))
    )


def element_function(
    config: HardwareConfig,
    name: str,
    inputs: tuple[Buffer, ...],
    value: Callable[[Expr, Expr], Expr],
) -> PrimFunc:
    """The behaviour `C[b, o] = value(b, o)` of an instruction that reads `inputs`."""
    c, b, o = accumulators("C", config), Var(f"{name}.b"), Var(f"{name}.o")
    stmt = Store(c, (b, o), value(b, o))
    loop = For(o, index(config.block_out), LoopKind.SERIAL, stmt)
    loop = For(b, index(config.batch), LoopKind.SERIAL, loop)
    return PrimFunc(name, inputs, (c,), loop)


def accumulators(name: str, config: HardwareConfig) -> Buffer:
    """A parameter that is an element of ACC."""
    return Buffer(name, (config.batch, config.block_out), INT32, OnChip.ACC)


def check_immediate(config: HardwareConfig, op: AnyOperation, value: int) -> None:
    """Raises `LoweringError` for a number that an instruction of `op` cannot carry."""
    low, high = (0, MAX_SHIFT) if op is AluOp.SHR else alu_layout(config)["imm"].limits
    if not low <= value <= high:
        raise LoweringError(
            f"immediate {value} of {op.name}: {low} to {high} is allowed; put it in a buffer"
        )


def alu_value(op: AluOp, a: Expr, b: Expr) -> Expr:
    """The result of an ALU operation on two accumulators."""
    match op:
        case AluOp.MIN:
            return minimum(a, b)
        case AluOp.MAX:
            return maximum(a, b)
        case AluOp.ADD:
            return a + b
        case AluOp.MUL:
            return a * b
        case AluOp.SHR if isinstance(b, Const):
            return a >> b
        case AluOp.SHR:
            # An amount that is no constant may be negative: a shift to the left.
            return select(b >= 0, a >> b, a << -b)
        case AluOp.MOVE:
            return b
        case AluOp.RESIDUAL:
            return a

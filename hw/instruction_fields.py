"""The fields of instructions and micro-ops: one table of what each of them is.

Layouts (`hw.encoding`), encoder and decoder, the texts of the disassembler, the RTL's words and the
random instructions of tests are derived from it. An instruction is the tuple of its fields from bit
0 up. `hw.isa.instructions` declares the same fields with their types for single instructions, and
`hw.isa.columns` for whole programs.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass
from typing import TypeAlias

from tandem.hw.codings import CODING_BITS, Coding
from tandem.hw.features import Feature
from tandem.hw.operations import ALU_OPCODE_BITS, IMMEDIATE_BITS, AluOp
from tandem.hw.topology import MemoryId

OPCODE_BITS = 3
MEMORY_BITS = 3
SCALE_BITS = 24
"""Width of the scale of residuals: a product with a signed byte has 32 bits."""


@dataclass(frozen=True, slots=True)
class IndexWidth:
    """A width that depends on the machine: of an index into any of `memories`, and `more` bits."""

    memories: tuple[MemoryId, ...]
    more: int = 0


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """What a field is, on every machine.

    Attributes
    ----------
    name
        In the encoding, in `Columns` and in the RTL.
    width
        In bits.
    meaning
        A phrase for readers.
    kind
        The type of its values in Python: `bool` for a flag, an enum, or `int`.
    signed
        Whether the field is a number in two's complement.
    attribute
        The name in `hw.isa.instructions`; empty if that is `name`.
    default
        The value that an instruction has if it does not say another; None: it has to say.
    needs
        The extension without which the instruction has no such field.
    excludes
        The flag that must be clear where this flag is set, in a legal program.
    forced_by
        The ALU operations that are legal only with this flag, on machines that have them; on
        others the opcode may be of an operation of the machine's own.
    use
        For warnings: what a program uses that sets this field of an extension.
    text
        In disassembly, the word that a flag which is set puts in the place of the usual one; empty
        for all others. Numbers have their texts in `hw.isa.disasm`.
    """

    name: str
    width: int | IndexWidth
    meaning: str
    kind: type[int] = int
    signed: bool = False
    attribute: str = ""
    default: int | None = None
    needs: Feature | None = None
    excludes: str = ""
    forced_by: tuple[AluOp, ...] = ()
    use: str = ""
    text: str = ""

    def on(self, features: Set[Feature]) -> bool:
        """Whether a machine with these extensions has the field."""
        return self.needs is None or self.needs in features

    @property
    def python_name(self) -> str:
        """The name in `hw.isa.instructions`."""
        return self.attribute or self.name


FieldSpecs: TypeAlias = tuple[FieldSpec, ...]
"""The fields of an instruction, from bit 0 up."""


def _flag(
    name: str,
    meaning: str,
    *,
    attribute: str = "",
    default: int | None = 0,
    text: str = "",
) -> FieldSpec:
    """A field of one bit that is true or false."""
    return FieldSpec(name, 1, meaning, bool, attribute=attribute, default=default, text=text)


def _factors(operand: str, memory: MemoryId, default: int | None = None) -> FieldSpecs:
    """The steps of an operand's index from iteration to iteration of the outer and inner loop."""
    width = IndexWidth((memory,))
    return (
        FieldSpec(
            f"{operand}_factor_out", width, f"step of {operand}, outer loop", default=default
        ),
        FieldSpec(f"{operand}_factor_in", width, f"step of {operand}, inner loop", default=default),
    )


_UOP, _WGT, _INP, _ACC, _PAR = (
    IndexWidth((memory,))
    for memory in (MemoryId.UOP, MemoryId.WGT, MemoryId.INP, MemoryId.ACC, MemoryId.PAR)
)

HEADER: FieldSpecs = (
    FieldSpec("opcode", OPCODE_BITS, "kind of instruction"),
    _flag("pop_prev", "waits for a token of the unit before"),
    _flag("pop_next", "waits for a token of the unit behind"),
    _flag("push_prev", "gives the unit before a token"),
    _flag("push_next", "gives the unit behind a token"),
)
"""The fields that all instructions have."""

PADDING: FieldSpecs = (
    FieldSpec("y_pad_0", 4, "rows of zeros above", default=0),
    FieldSpec("y_pad_1", 4, "rows of zeros below", default=0),
    FieldSpec("x_pad_0", 4, "elements of zeros on the left", default=0),
    FieldSpec("x_pad_1", 4, "elements of zeros on the right", default=0),
)

_PLACES: FieldSpecs = (
    FieldSpec("memory_type", MEMORY_BITS, "on-chip memory", MemoryId, attribute="memory"),
    FieldSpec("sram_base", 16, "first element on chip"),
    FieldSpec("dram_base", 32, "first element in DRAM, from the memory's base register"),
)

_EXTENTS: FieldSpecs = (
    FieldSpec("y_size", 16, "rows"),
    FieldSpec("x_size", 16, "elements of a row; 0: only tokens act"),
    FieldSpec("x_stride", 16, "elements from row to row in DRAM"),
    *PADDING,
)

LOAD: FieldSpecs = (
    *HEADER,
    *_PLACES,
    FieldSpec(
        "coding",
        CODING_BITS,
        "of WGT_CODES: codes of 1, 2 or 4 bits, or of 4 behind scales; else 0",
        Coding,
        default=Coding.BITS_1,
        needs=Feature.COMPRESSED_WEIGHTS,
        use="LOAD of codes",
    ),
    *_EXTENTS,
)

STORE: FieldSpecs = (*HEADER, *_PLACES, *_EXTENTS)

_LOOPS: FieldSpecs = (
    FieldSpec("uop_bgn", _UOP, "first micro-op"),
    FieldSpec("uop_end", IndexWidth((MemoryId.UOP,), 1), "one past the last micro-op"),
    FieldSpec("iter_out", 14, "iterations of the outer loop"),
    FieldSpec("iter_in", 14, "iterations of the inner loop"),
)
"""Fields of GEMM and ALU. Those of extensions follow, where VTA's `pynq` has bits to
spare, so that all others stay in their places there."""

GEMM: FieldSpecs = (
    *HEADER,
    _flag("reset_reg", "clears accumulators", attribute="reset", default=None, text="reset"),
    *_LOOPS,
    FieldSpec(
        "overwrite",
        1,
        "replaces accumulators",
        bool,
        default=0,
        needs=Feature.OVERWRITE,
        use="GEMM that overwrites",
        text="overwrite",
    ),
    *_factors("dst", MemoryId.ACC),
    *_factors("src", MemoryId.INP),
    *_factors("wgt", MemoryId.WGT),
)

ALU: FieldSpecs = (
    *HEADER,
    _flag("reset_reg", "ignored", attribute="reset"),
    *_LOOPS,
    FieldSpec(
        "from_inp",
        1,
        "second operand from INP",
        bool,
        default=0,
        needs=Feature.INPUT_OPERANDS,
        excludes="use_imm",
        forced_by=(AluOp.RESIDUAL,),
        use="ALU operand from INP",
        text="inp",
    ),
    *_factors("dst", MemoryId.ACC),
    *_factors("src", MemoryId.ACC),
    FieldSpec("alu_opcode", ALU_OPCODE_BITS, "operation", AluOp, attribute="op"),
    _flag("use_imm", "second operand is the immediate", default=None),
    FieldSpec("imm", IMMEDIATE_BITS, "immediate", signed=True),
)

FINISH: FieldSpecs = HEADER

REQUANTISE: FieldSpecs = (
    *HEADER,
    _flag("active", "results are requantised", default=None),
    FieldSpec("low", 8, "least result", signed=True, default=-128),
    FieldSpec("high", 8, "greatest result", signed=True, default=127),
    FieldSpec("scale", SCALE_BITS, "factor of residuals", default=0),
    FieldSpec("par_base", _PAR, "first element of PAR", default=0),
    *_factors("par", MemoryId.PAR, default=0),
)

TABLE: FieldSpecs = (
    *HEADER,
    _flag("upper_half", "entries 8 to 15, else 0 to 7"),
    FieldSpec("entries_low", 32, "the first four of them, int8, the first in the lowest byte"),
    FieldSpec("entries_high", 32, "the others"),
)

MICRO_OP: FieldSpecs = (
    FieldSpec("dst", _ACC, "element of ACC"),
    FieldSpec("src", IndexWidth((MemoryId.INP, MemoryId.ACC)), "element of INP or ACC", default=0),
    FieldSpec("wgt", _WGT, "element of WGT", default=0),
)
"""The fields of a micro-op. `src` is wide enough for INP (GEMM) and for ACC (ALU)."""


def own_fields(specs: FieldSpecs) -> FieldSpecs:
    """The fields of an instruction behind those that all instructions have."""
    return specs[len(HEADER) :]

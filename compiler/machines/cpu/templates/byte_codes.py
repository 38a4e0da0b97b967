"""Codes of compressed weights in bytes, in the order of products on the CPU.

    packed[jb, g, .., s, l, t]      codes of output jb * channels + l, `parts` in a byte
    scales[jb, g // 2, .., l]       the scales of two groups in a byte
    widened[jb, g, .., s, q, l, t]  = table[packed[jb, g, .., s, l, t] >> q * bits & mask]

of input `((g * steps + s) * parts + q) * depth + t`; the dots are a convolution's window. The bytes
of a register hold the codes of `parts` dot products, of which two share a load of four bits, so
that a register of weights is a load, a shift, and a permutation of the table. A scale multiplies
the sum of its group instead of its weights: as long as no product of an entry and a scale leaves
int8, sums are those of the widened weights in every bit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tandem.compiler import te
from tandem.compiler.errors import Refusal
from tandem.compiler.ir.code_tables import entry_of
from tandem.compiler.ir.dtypes import BOOL, INT32, UINT8
from tandem.compiler.ir.expr import Expr
from tandem.compiler.ir.stmt import PrimFunc
from tandem.compiler.machines.cpu.templates.conv2d_shape import WINDOW
from tandem.compiler.machines.cpu.templates.register_tiles import Tile
from tandem.compiler.operators.widen import SCALES
from tandem.compiler.te import Tensor, compute

_BYTE = UINT8.bits
_SCALE_BITS, _LARGEST_SCALE = SCALES.bits, SCALES.high


@dataclass(frozen=True, slots=True)
class CompressedWeight:
    """Compressed weights.

    Attributes
    ----------
    codes
        [outputs, inputs, ..], as `operators.widen.widen` takes them.
    scales
        [outputs, groups, ..], or None.
    group
        The inputs that share a scale; all of them without scales.
    widened
        The int8 weights.
    """

    codes: Tensor
    scales: Tensor | None
    table: tuple[int, ...]
    group: int
    widened: Tensor

    @property
    def bits(self) -> int:
        """The bits of a code."""
        return self.codes.dtype.bits


@dataclass(frozen=True, slots=True)
class CodeLayout:
    """How codes lie in bytes.

    Attributes
    ----------
    blocks, channels
        Blocks of outputs, and the outputs of one.
    groups, steps
        Groups along the inputs, and the bytes for each output and term in one.
    parts, depth
        The codes in a byte, each of another dot product; and the terms of a dot product.
    window
        The rows and columns of a convolution's window; empty of a dense layer.
    """

    blocks: int
    channels: int
    groups: int
    steps: int
    parts: int
    depth: int
    window: tuple[int, ...] = ()

    @staticmethod
    def of(weight: CompressedWeight, tile: Tile, dot: PrimFunc | None) -> CodeLayout:
        """The layout for sums of a tile, which a dot product computes if one is given.

        Raises
        ------
        Refusal
            Groups end within the bytes of a register.
        """
        outputs, inputs, *window = weight.codes.shape
        depth = 1 if dot is None else dot.inputs[1].size
        parts = _BYTE // weight.bits
        terms, group = depth * parts, min(weight.group, inputs)
        groups = -(-inputs // group)
        if groups > 1 and group % terms:
            raise Refusal(f"groups of {group} weights, which are widened {terms} at a time")
        blocks = -(-outputs // tile.channels)
        steps = -(-group // terms)
        return CodeLayout(blocks, tile.channels, groups, steps, parts, depth, tuple(window))

    @property
    def inputs(self) -> int:
        """The inputs, with those up to whole groups."""
        return self.groups * self.steps * self.parts * self.depth

    @property
    def window_names(self) -> tuple[str, ...]:
        """The names of the axes of `window`."""
        return WINDOW[: len(self.window)]

    def input_of(self, group: Expr, step: Expr, part: Expr | int, term: Expr) -> Expr:
        """The number of an input."""
        return ((group * self.steps + step) * self.parts + part) * self.depth + term


def packed_codes(weight: CompressedWeight, layout: CodeLayout, name: str) -> Tensor:
    """The codes in bytes, those of earlier inputs in lower bits; 0 beyond the edges."""
    codes = weight.codes

    def element(jb: Expr, g: Expr, *inner: Expr) -> Expr:
        *window, s, at, t = inner
        row = jb * layout.channels + at
        found: Expr = te.const(0, UINT8)
        for part in range(layout.parts):
            column = layout.input_of(g, s, part, t)
            there = te.all_of(row < codes.shape[0], column < codes.shape[1])
            code = codes[(row, column, *window)]
            number = te.select(code, te.const(1, UINT8), 0) if code.dtype == BOOL else code
            found = found | te.select(there, te.cast(number, UINT8) << part * weight.bits, 0)
        return found

    steps = layout.steps, layout.channels, layout.depth
    extents = layout.blocks, layout.groups, *layout.window, *steps
    return compute(extents, element, name, ["jb", "g", *layout.window_names, "s", "l", "t"])


def packed_scales(scales: Tensor, layout: CodeLayout, name: str) -> Tensor:
    """The scales of two groups in a byte, that of the first in its low bits."""

    def element(jb: Expr, h: Expr, *inner: Expr) -> Expr:
        *window, at = inner
        row = jb * layout.channels + at

        def scale(group: Expr) -> Expr:
            there = te.all_of(row < scales.shape[0], group < scales.shape[1])
            return te.select(there, te.cast(scales[(row, group, *window)], UINT8), 0)

        return scale(h * 2) | scale(h * 2 + 1) << _SCALE_BITS

    extents = layout.blocks, -(-layout.groups // 2), *layout.window, layout.channels
    return compute(extents, element, name, ["jb", "h", *layout.window_names, "l"])


def scale_of(scales: Tensor, jb: Expr, g: Expr, window: Sequence[Expr], at: Expr) -> Expr:
    """The scale of a group, of `packed_scales`."""
    both = te.cast(scales[(jb, g // 2, *window, at)], INT32)
    return both >> te.cast(g % 2, INT32) * _SCALE_BITS & _LARGEST_SCALE


def widened_codes(
    packed: Tensor, weight: CompressedWeight, layout: CodeLayout, name: str
) -> Tensor:
    """The int8 entries of `packed_codes`."""
    mask = (1 << weight.bits) - 1

    def element(jb: Expr, g: Expr, *inner: Expr) -> Expr:
        *window, s, q, at, t = inner
        code = packed[(jb, g, *window, s, at, t)] >> te.cast(q, UINT8) * weight.bits & mask
        return entry_of(code, weight.table)

    *outer, channels, depth = packed.shape
    names = ["jb", "g", *layout.window_names, "s", "q", "l", "t"]
    return compute((*outer, layout.parts, channels, depth), element, name, names)

"""Copies between DRAM and a memory on chip, found in loops around a single assignment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from compiler.errors import LoweringError
from compiler.intrinsics.scopes import OnChip
from compiler.ir.buffer import Buffer, Scope
from compiler.ir.dtypes import INT8, INT32, DType
from compiler.ir.expr import Cast, Const, Expr, Load, Select, Var
from compiler.ir.stmt import Store
from compiler.lower.accelerator.elements import flat_address, lanes_of
from compiler.lower.accelerator.forms import Env, Form
from compiler.lower.accelerator.nests import NEVER, Box, Nest, Tests, within
from compiler.lower.accelerator.rectangles import Axis, Piece, Zeros, may_overlap, pieces
from compiler.lower.conditions import parts
from hw.config import HardwareConfig
from hw.topology import MemoryId

__all__ = ["CopyPlan"]

_MEMORIES: Mapping[tuple[Scope, DType], MemoryId] = {
    (OnChip.INP, INT8): MemoryId.INP,
    (OnChip.WGT, INT8): MemoryId.WGT,
    (OnChip.ACC, INT32): MemoryId.ACC,
    (OnChip.ACC, INT8): MemoryId.ACC_8BIT,
}
"""What a LOAD is called, by where it brings elements, and of which type they are in DRAM."""


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """A copy; turns of the loops around it only put numbers in.

    Attributes
    ----------
    chip, dram
        The buffers on either side.
    memory
        As LOAD and STORE name it; OUT for a STORE.
    chip_at
        Which value of its buffer.
    dram_from, dram_at
        The same, as a sum of two: what loops around add, and the rest.
    inside
        Where values come from DRAM; elsewhere they are zero.
    """

    nest: Nest
    chip: Buffer
    dram: Buffer
    memory: MemoryId
    chip_at: Form
    dram_from: Form
    dram_at: Form
    inside: Tests
    unrolled: frozenset[str]
    around: tuple[str, ...]
    """Variables of the loops around that more than `dram_from` depends on."""
    lanes: int

    @staticmethod
    def of(nest: Nest, config: HardwareConfig) -> CopyPlan:
        """Raises `LoweringError` for an assignment that is no copy to or from DRAM."""
        store = nest.leaf
        assert isinstance(store, Store)
        value, inside = _unpadded(store)
        only_zeros = value == Const(0, store.buffer.dtype) and store.buffer.scope != Scope.GLOBAL
        if only_zeros:
            chip = dram = store.buffer
            places = store.indices, store.indices
            memory = _memory_of_zeros(store)
        else:
            load = value.operand if isinstance(value, Cast) else value
            if not isinstance(load, Load):
                raise LoweringError(f"{_what(store)} is no copy: tensorize what computes")
            memory = _memory(store, value.dtype, load, padded=bool(inside))
            chip, dram = store.buffer, load.buffer
            places = store.indices, load.indices
            if memory is MemoryId.OUT:
                chip, dram, places = dram, chip, places[::-1]
        chip_at = Form.of(flat_address(chip, places[0]))
        dram_at = Form.of(flat_address(dram, places[1]))
        tests = NEVER if only_zeros else Tests.of(inside)
        names = nest.names
        unrolled = chip_at.needs(names) | dram_at.needs(names)
        for each in tests.sums:
            unrolled |= each.needs(names)
            several = [name for name, _ in each.linear_terms if name in names - unrolled]
            # Where zeros begin would depend on the turn of another loop.
            unrolled |= frozenset(several[:-1])
        start, rest = dram_at.parted(names)
        forms = (chip_at, rest, *tests.sums)
        around = tuple(nest.around.union(*(each.names for each in forms)) - names)
        lanes = lanes_of(memory, config)
        return CopyPlan(
            nest, chip, dram, memory, chip_at, start, rest, tests, unrolled, around, lanes
        )

    def offset(self, env: Env) -> tuple[int, int]:
        """What loops around add to addresses in DRAM: whole elements, and values beside."""
        return divmod(
            sum(step * env[name] for name, step in self.dram_from.linear_terms), self.lanes
        )

    def at(self, env: Env, *, loose: bool = False) -> list[Piece | Zeros]:
        """The pieces of one iteration; addresses count elements from either buffer's first one.

        They are without the whole elements of `offset`: so they depend on its rest and on the
        variables `around` only.

        Parameters
        ----------
        loose
            Nobody uses what this leaves out of the buffer, or of its thread's slice of it.
        """
        boxes = list(self.nest.boxes(env, self.unrolled))
        rest = self.offset(env)[1]
        # One box must not put zeros on what another brought.
        alone = loose and len(boxes) == 1
        return [each for inner, box in boxes for each in self._pieces(inner, box, rest, alone)]

    def _pieces(self, env: Env, box: Box, start: int, loose: bool) -> Iterator[Piece | Zeros]:
        chip, chip_steps = self.chip_at.at(env)
        dram, dram_steps = self.dram_at.at(env)
        dram += start
        valid = next((each for _, each in within(self.inside, env, box)), None)
        axes = []
        for name, (low, high) in box.items():
            sram, source = chip_steps.get(name, 0), dram_steps.get(name, 0)
            first, last = (low, high) if valid is None else valid[name]
            chip += low * sram
            dram += low * source
            if high - low > 1 or (first, last) != (low, high):
                axes.append(Axis(high - low, first - low, last - low, sram, source))
        inner, outer = self._parted(axes)
        if valid is None:
            # Nothing of it lies in DRAM.
            outer = [*(replace(each, dram=0) for each in outer), Axis(1, 0, 0, self.lanes, 0)]
            dram = 0
        if chip % self.lanes or dram % self.lanes:
            self._refuse("copies begin inside of one")
        if inner != self.lanes:
            self._refuse(f"{inner} values of each are copied")
        if may_overlap((each.extent, self._written(each)) for each in outer):
            self._refuse("some are written several times in one turn of the loops around")
        scaled = [
            replace(each, sram=each.sram // self.lanes, dram=each.dram // self.lanes)
            for each in outer
        ]
        at = chip // self.lanes
        yield from pieces(scaled, at, dram // self.lanes, loose=self._slice(at) if loose else None)

    def _written(self, axis: Axis) -> int:
        return axis.dram if self.memory is MemoryId.OUT else axis.sram

    def _slice(self, at: int) -> range:
        """The thread's elements of the buffer, of which `at` is one."""
        assert isinstance(self.nest.leaf, Store)
        size = self.chip.size // self.lanes
        for index, extent in zip(self.nest.leaf.indices, self.chip.shape, strict=True):
            if not isinstance(index, Var) or index.name in self.nest.names:
                break
            size //= extent
        first = at // size * size
        return range(first, first + size)

    def _parted(self, axes: list[Axis]) -> tuple[int, list[Axis]]:
        """How many values lie together, and the axes along which elements lie."""
        size = 1
        for each in sorted((a for a in axes if a.sram < self.lanes), key=lambda a: a.sram):
            if each.padded:
                self._refuse("padding begins inside of one")
            if each.sram != size or each.dram != size:
                self._refuse(f"{each.extent} values lie {each.dram} apart there, {each.sram} here")
            size *= each.extent
        outer = [each for each in axes if each.sram >= self.lanes]
        if any(each.sram % self.lanes or each.dram % self.lanes for each in outer):
            self._refuse("steps end inside of one")
        return size, outer

    def _refuse(self, why: str) -> None:
        raise LoweringError(
            f"{self.dram.name} {list(self.dram.shape)} and {self.chip.name} "
            f"{list(self.chip.shape)}: {self.memory.name} is copied in elements of {self.lanes} "
            f"values that lie together on both sides; {why}"
        )


def _unpadded(store: Store) -> tuple[Expr, tuple[Expr, ...]]:
    """What is copied, and under which conditions; elsewhere it is 0."""
    value = store.value
    if not isinstance(value, Select):
        return value, ()
    if not isinstance(value.otherwise, Const) or value.otherwise.value != 0:
        raise LoweringError(f"{_what(store)} is padded with something else than 0")
    return value.then, parts(value.condition)


def _memory(store: Store, dtype: DType, load: Load, *, padded: bool) -> MemoryId:
    """As LOAD and STORE name it; `dtype` is that of what is stored."""
    source, result = load.buffer, store.buffer
    if source.scope == Scope.GLOBAL and result.scope != Scope.GLOBAL:
        memory = _MEMORIES.get((result.scope, source.dtype))
        fits = dtype == result.dtype == (INT32 if result.scope == OnChip.ACC else INT8)
    elif source.scope == OnChip.ACC and result.scope == Scope.GLOBAL:
        memory = MemoryId.OUT
        fits = result.dtype == INT8 and source.dtype == INT32 and not padded
    else:
        raise LoweringError(
            f"{_what(store)} goes from {source.scope.value} to {result.scope.value}: loads go from "
            f"global to inp, wgt or acc, stores from acc to global"
        )
    if memory is None or not fits:
        raise LoweringError(
            f"{_what(store)} goes from {source.dtype} to {result.dtype}: inp and wgt take int8, "
            f"acc takes int32, and int8 as int32, and stores give int8"
        )
    return memory


def _memory_of_zeros(store: Store) -> MemoryId:
    buffer = store.buffer
    memory = _MEMORIES.get((buffer.scope, buffer.dtype))
    if memory is None:
        raise LoweringError(
            f"{_what(store)} is zeros of {buffer.dtype} in {buffer.scope.value}: inp and wgt take "
            f"int8, acc takes int32"
        )
    return memory


def _what(store: Store) -> str:
    return f"what {store.buffer.name} is assigned"

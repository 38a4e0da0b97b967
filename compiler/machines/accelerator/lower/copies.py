"""Copies between DRAM and an on-chip memory, from loops around a single store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product

from tandem.compiler.errors import LoweringError
from tandem.compiler.ir.buffer import Buffer, Scope
from tandem.compiler.ir.dtypes import INT8, INT32, INT64, DType
from tandem.compiler.ir.expr import Cast, Const, Expr, Load, Select, Var
from tandem.compiler.ir.stmt import Store
from tandem.compiler.lower.conditions import conjuncts
from tandem.compiler.machines.accelerator.intrinsics.scopes import OnChip
from tandem.compiler.machines.accelerator.lower.index_sums import Env, IndexSum
from tandem.compiler.machines.accelerator.lower.instruction_nests import (
    NEVER,
    Box,
    Conditions,
    Nest,
    within,
)
from tandem.compiler.machines.accelerator.lower.onchip import lanes_of
from tandem.compiler.machines.accelerator.lower.rectangles import (
    Axis,
    Rectangle,
    Zeros,
    may_overlap,
    rectangles,
)
from tandem.hw.config import HardwareConfig
from tandem.hw.topology import MemoryId

_MEMORIES: Mapping[tuple[Scope, DType], MemoryId] = {
    (OnChip.INP, INT8): MemoryId.INP,
    (OnChip.WGT, INT8): MemoryId.WGT,
    (OnChip.ACC, INT32): MemoryId.ACC,
    (OnChip.ACC, INT8): MemoryId.ACC_8BIT,
    (OnChip.PAR, INT64): MemoryId.PAR,
}
"""The memory that a LOAD names, by the buffer's scope on chip and the element type in DRAM."""
_ON_CHIP: Mapping[Scope, DType] = {OnChip.ACC: INT32, OnChip.PAR: INT64}
"""The types of values on chip, other than int8."""
_Place = tuple[int, int, tuple[Axis, ...], bool, bool]
"""Where a box begins on chip and in DRAM, its axes, whether all of it is zeros, and whether what it
leaves out is never read."""


@dataclass(frozen=True, slots=True)
class CopyPlan:
    """A copy, analysed once for all iterations of the loops around it.

    Attributes
    ----------
    chip, dram
        The buffers on either side.
    memory
        The memory that LOAD or STORE names; OUT for a STORE.
    chip_at
        The address in the buffer on chip, in values.
    dram_from, dram_at
        Summands of the address in DRAM: the terms linear in the loops around, and the rest.
    inside
        Conditions under which values come from DRAM; all other values are zero.
    around
        Variables of the loops around on which anything but `dram_from` depends.
    lanes
        Values in one element of the memory.
    """

    nest: Nest
    chip: Buffer
    dram: Buffer
    memory: MemoryId
    chip_at: IndexSum
    dram_from: IndexSum
    dram_at: IndexSum
    inside: Conditions
    unrolled: frozenset[str]
    around: tuple[str, ...]
    lanes: int
    _known: dict[_Place, list[Rectangle | Zeros]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @staticmethod
    def of(nest: Nest, config: HardwareConfig) -> CopyPlan:
        """The plan of a nest around a store.

        Raises
        ------
        LoweringError
            For a store that is no copy to or from DRAM.
        """
        store = nest.leaf
        assert isinstance(store, Store)
        value, inside = _unpadded(store)
        only_zeros = value == Const(0, store.buffer.dtype) and store.buffer.scope != Scope.GLOBAL
        source: Load | Store = store
        if only_zeros:
            memory = _memory_of_zeros(store)
        else:
            load = value.operand if isinstance(value, Cast) else value
            if not isinstance(load, Load):
                raise LoweringError(f"{_value_of(store)} is no copy: tensorize what computes")
            source, memory = load, _memory(store, value.dtype, load, padded=bool(inside))
        chip, dram = (source, store) if memory is MemoryId.OUT else (store, source)
        chip_at = IndexSum.of_address(chip.buffer, chip.indices)
        dram_at = IndexSum.of_address(dram.buffer, dram.indices)
        tests = NEVER if only_zeros else Conditions.of(inside)
        names = nest.names
        unrolled = chip_at.nonlinear_in(names) | dram_at.nonlinear_in(names)
        for test in tests.sums:
            unrolled |= test.nonlinear_in(names)
            several = [name for name, _ in test.linear_terms if name in names - unrolled]
            # Otherwise one loop's padding would depend on the iteration of another.
            unrolled |= frozenset(several[:-1])
        start, rest = dram_at.split(names)
        around = nest.around.union(*(each.names for each in (chip_at, rest, *tests.sums))) - names
        return CopyPlan(
            nest=nest,
            chip=chip.buffer,
            dram=dram.buffer,
            memory=memory,
            chip_at=chip_at,
            dram_from=start,
            dram_at=rest,
            inside=tests,
            unrolled=unrolled,
            around=tuple(around),
            lanes=lanes_of(memory, config),
        )

    def offset(self, env: Env) -> tuple[int, int]:
        """The value of `dram_from`, as whole elements and remaining values."""
        return divmod(self.dram_from.at(env)[0], self.lanes)

    def at(self, env: Env, *, loose: bool = False) -> list[Rectangle | Zeros]:
        """The rectangles of one iteration; addresses are in elements, relative to each buffer.

        Addresses leave out the whole elements of `offset`, and so depend only on its remaining
        values and on the variables `around`.

        Parameters
        ----------
        loose
            Whether elements that the copy leaves out, of the buffer or of the thread's slice, are
            never read.
        """
        boxes = list(self.nest.boxes(env, self.unrolled))
        rest = self.offset(env)[1]
        # With several boxes, zeros of one could overwrite elements of another.
        alone = loose and len(boxes) == 1
        return [each for inner, box in boxes for each in self._rectangles(inner, box, rest, alone)]

    def _rectangles(self, env: Env, box: Box, start: int, loose: bool) -> list[Rectangle | Zeros]:
        """The rectangles of one box; `start` are the values that are left of `offset`."""
        valid = next((each for _, each in within(self.inside, env, box)), None)
        chip, dram, axes = self._axes(env, box, valid or box)
        key = chip, dram + start, tuple(axes), valid is None, loose
        if key not in self._known:
            self._known[key] = [*self._pieces(*key)]
        return self._known[key]

    def _pieces(
        self, chip: int, dram: int, axes: Sequence[Axis], zeros: bool, loose: bool
    ) -> Iterator[Rectangle | Zeros]:
        """The rectangles of a box at a place; `zeros` for nothing but zeros."""
        stores = self.memory is MemoryId.OUT
        # An element may be stored at several places: each takes STOREs of its own.
        places = [axis for axis in axes if stores and not axis.sram and axis.dram]
        size, outer = self._element_axes([axis for axis in axes if axis not in places])
        if zeros:
            # The whole box is zeros.
            outer = [*(replace(each, dram=0) for each in outer), Axis(1, 0, 0, self.lanes, 0)]
            dram = 0
        if chip % self.lanes or dram % self.lanes:
            self._refuse("copies begin inside an element")
        if size != self.lanes:
            self._refuse(f"{size} values of each are copied")
        if any(each.dram % self.lanes for each in places):
            self._refuse("places of one element begin inside others")
        steps = (*outer, *places)
        if may_overlap((each.extent, each.dram if stores else each.sram) for each in steps):
            self._refuse("some are written several times in one iteration of the loops around")
        scaled = [
            replace(axis, sram=axis.sram // self.lanes, dram=axis.dram // self.lanes)
            for axis in outer
        ]
        at = chip // self.lanes
        slice_ = self._thread_slice(at) if loose else None
        for place in product(*(range(0, each.extent * each.dram, each.dram) for each in places)):
            yield from rectangles(scaled, at, (dram + sum(place)) // self.lanes, loose=slice_)

    def _axes(self, env: Env, box: Box, valid: Box) -> tuple[int, int, list[Axis]]:
        """The places on chip and in DRAM at which a box begins, in values, and the axes along which
        it has several values or leaves some out, which are those outside of `valid`."""
        chip, chip_steps = self.chip_at.at(env)
        dram, dram_steps = self.dram_at.at(env)
        axes = []
        for name, (low, high) in box.items():
            sram, source = chip_steps.get(name, 0), dram_steps.get(name, 0)
            chip += low * sram
            dram += low * source
            if high - low > 1 or valid[name] != (low, high):
                first, last = valid[name]
                axes.append(Axis(high - low, first - low, last - low, sram, source))
        return chip, dram, axes

    def _thread_slice(self, at: int) -> range:
        """The elements of the buffer that belong to the thread of element `at`."""
        assert isinstance(self.nest.leaf, Store)
        size = self.chip.size // self.lanes
        for index, extent in zip(self.nest.leaf.indices, self.chip.shape, strict=True):
            if not isinstance(index, Var) or index.name in self.nest.names:
                break
            size //= extent
        first = at // size * size
        return range(first, first + size)

    def _element_axes(self, axes: list[Axis]) -> tuple[int, list[Axis]]:
        """The number of contiguous values, and the axes whose strides are whole elements."""
        size = 1
        for axis in sorted((a for a in axes if a.sram < self.lanes), key=lambda a: a.sram):
            if axis.padded:
                self._refuse("padding begins inside an element")
            if axis.sram != size or axis.dram != size:
                self._refuse(
                    f"{axis.extent} values lie {axis.dram} apart in DRAM, {axis.sram} on chip"
                )
            size *= axis.extent
        outer = [each for each in axes if each.sram >= self.lanes]
        if any(each.sram % self.lanes or each.dram % self.lanes for each in outer):
            self._refuse("steps end inside an element")
        return size, outer

    def _refuse(self, why: str) -> None:
        raise LoweringError(
            f"{self.dram.name} {list(self.dram.shape)} and {self.chip.name} "
            f"{list(self.chip.shape)}: {self.memory.name} is copied in elements of {self.lanes} "
            f"values that are contiguous in both memories; {why}"
        )


def _unpadded(store: Store) -> tuple[Expr, tuple[Expr, ...]]:
    """The copied value, and the conditions under which it is copied, not replaced by 0."""
    value = store.value
    if not isinstance(value, Select):
        return value, ()
    if not isinstance(value.otherwise, Const) or value.otherwise.value != 0:
        raise LoweringError(f"{_value_of(store)} is padded with something else than 0")
    return value.then, conjuncts(value.condition)


def _memory(store: Store, dtype: DType, load: Load, *, padded: bool) -> MemoryId:
    """The memory that LOAD or STORE names; `dtype` is the type of the stored value."""
    source, result = load.buffer, store.buffer
    if source.scope == Scope.GLOBAL and result.scope != Scope.GLOBAL:
        memory = _MEMORIES.get((result.scope, source.dtype))
        fits = dtype == result.dtype == _ON_CHIP.get(result.scope, INT8)
    elif source.scope == OnChip.ACC and result.scope == Scope.GLOBAL:
        memory = MemoryId.OUT
        fits = result.dtype == INT8 and source.dtype == INT32 and not padded
    else:
        raise LoweringError(
            f"{_value_of(store)} goes from {source.scope.value} to {result.scope.value}: loads go "
            f"from global to inp, wgt or acc, stores from acc to global"
        )
    if memory is None or not fits:
        raise LoweringError(
            f"{_value_of(store)} goes from {source.dtype} to {result.dtype}: inp and wgt take "
            f"int8, acc takes int32, and int8 as int32, and stores give int8"
        )
    return memory


def _memory_of_zeros(store: Store) -> MemoryId:
    buffer = store.buffer
    memory = _MEMORIES.get((buffer.scope, buffer.dtype))
    if memory is None:
        raise LoweringError(
            f"{_value_of(store)} is zeros of {buffer.dtype} in {buffer.scope.value}: inp and wgt "
            f"take int8, acc takes int32"
        )
    return memory


def _value_of(store: Store) -> str:
    return f"the value stored in {store.buffer.name}"

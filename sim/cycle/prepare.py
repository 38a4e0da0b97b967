"""A program prepared for the cycle engine, for any memory, base registers and contents."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tandem.hw.bases import address_mask, bases_by_memory
from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import INSTRUCTION_BYTES, uop_layout
from tandem.hw.faults import Fault
from tandem.hw.hazards.dram import Rectangles, rectangles_of
from tandem.hw.isa import Columns, MemoryId, Opcode, TokenQueue, Unit
from tandem.hw.isa.element_sizes import dram_unit_table, element_size_table
from tandem.sim.cycle import loads, state
from tandem.sim.cycle.bus_log import make_log, no_log
from tandem.sim.cycle.pipeline_state import UopMemory, make_pipeline
from tandem.sim.cycle.silence import make_silence
from tandem.sim.cycle.state import LONGEST_WAIT, Run
from tandem.sim.engine import Silence
from tandem.sim.functional.plan import Plan, make_plan
from tandem.sim.semantics.detail import make_detail

Ints = npt.NDArray[np.int64]
UOP_BYTES = 4
_FAR = 1 << 62
"""Ranges are clipped to this address, beyond every memory."""


@dataclass(frozen=True, slots=True, eq=False)
class Prepared:
    """The tables of a program; the fields that are not described are those of `Run`."""

    config: HardwareConfig
    columns: Columns
    plan: Plan
    faults: Ints
    first: Ints
    ordinal: Ints
    word: Ints
    source: Ints
    """Where the micro-ops of all LOADs lie, in words from the base register."""
    most_pushes: int
    """The most tokens that are pushed to one queue."""
    _accesses: dict[tuple[int, ...], Rectangles]

    @property
    def dispatched(self) -> int:
        """The number of instructions ahead of the first that is illegal by itself."""
        illegal = np.flatnonzero(self.faults)
        return int(illegal[0]) if len(illegal) else len(self.faults)

    def accesses(self, bases: tuple[int, ...]) -> Rectangles:
        """The bytes of DRAM that each instruction accesses, kept for later calls."""
        if bases not in self._accesses:
            self._accesses.clear()
            self._accesses[bases] = rectangles_of(self.config, self.columns, bases)
        return self._accesses[bases]


def prepare(config: HardwareConfig, columns: Columns) -> Prepared:
    """Prepare a program, legal or not."""
    plan = make_plan(config, columns)
    first = np.append(plan.first, len(plan.stream))
    ordinal = np.zeros(len(plan.units), np.int64)
    ordinal[plan.stream] = np.arange(len(plan.stream)) - np.repeat(plan.first, np.diff(first))
    word, source = _micro_op_words(columns)
    pushes = np.bincount(plan.queues[:, 2:].ravel(), minlength=len(TokenQueue))
    return Prepared(
        config=config,
        columns=columns,
        plan=plan,
        faults=_faults(columns, plan),
        first=first,
        ordinal=ordinal,
        word=word,
        source=source,
        most_pushes=int(pushes[: len(TokenQueue)].max()),
        _accesses={},
    )


def _faults(columns: Columns, plan: Plan) -> Ints:
    """The plan's faults, and that of a program without FINISH, which its last instruction has."""
    faults = plan.faults.copy()
    if len(faults) and not faults[-1] and not (columns.opcode == Opcode.FINISH).any():
        faults[-1] = Fault.NO_FINISH
    return faults


def _micro_op_words(columns: Columns) -> tuple[Ints, Ints]:
    """For each instruction the number of micro-ops that LOADs before it load, and where all lie."""
    mine = (columns.opcode == Opcode.LOAD) & (columns.memory_type == MemoryId.UOP)
    rows = np.where(mine & (columns.x_size > 0), columns.y_size, 0).astype(np.int64)
    counts = rows * columns.x_size
    word = np.cumsum(counts) - counts
    row_of = np.repeat(np.arange(len(rows)), rows)
    row = np.arange(len(row_of)) - np.repeat(np.cumsum(rows) - rows, rows)
    begin = columns.dram_base[row_of] + row * columns.x_stride[row_of]
    sizes = columns.x_size[row_of].astype(np.int64)
    inside = np.arange(int(sizes.sum())) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return word, np.repeat(begin, sizes) + inside


def make_run(
    program: Prepared,
    address: int,
    bases: Sequence[int],
    memory: npt.NDArray[np.uint8],
    uops: Ints,
    refused: Sequence[tuple[int, int]] = (),
    silence: Silence | None = None,
    *,
    log: bool = False,
) -> Run:
    """The state of a run at launch, on DRAM `memory` and with `uops` in the micro-op memory.

    `refused` are the addresses that answer with an error, `silence` when memory does not answer;
    with `log`, what happens on the bus is kept.
    """
    config, plan = program.config, program.plan
    count = len(plan.units)
    dma = np.zeros((len(Unit), loads.FIELDS), np.int64)
    dma[:, loads.INSTRUCTION] = -1
    own = np.zeros(state.FIELDS, np.int64)
    own[[state.LIMIT, state.FAULT_CYCLE]] = LONGEST_WAIT
    own[[state.LAST, state.SHIFT_AT]] = -1
    if log:
        own[state.WATCH] = state.WATCH_SILENCE
    errors = [(min(begin, _FAR), min(end, _FAR)) for begin, end in refused]
    return Run(
        table=plan.table,
        units=plan.units,
        faults=program.faults,
        queues=plan.queues,
        stream=plan.stream,
        first=program.first,
        ordinal=program.ordinal,
        address=address,
        element_bytes=element_size_table(config),
        dram_units=dram_unit_table(config),
        bases=np.array(bases_by_memory(bases), np.int64),
        words=_words(program, bases[MemoryId.UOP], memory),
        word=program.word,
        refused=np.array([*errors, (len(memory), LONGEST_WAIT)], np.int64),
        memory=_uop_memory(config, uops),
        state=own,
        times=np.empty((state.TIMES, count), np.int64),
        available=np.empty(count * max(1, INSTRUCTION_BYTES // config.bus_bytes) + 1, np.int64),
        pushes=np.empty((len(TokenQueue), max(1, program.most_pushes)), np.int64),
        dma=dma,
        pipeline=np.stack([make_pipeline()] * 2),
        detail=np.stack([make_detail()] * 2),
        silence=make_silence(silence),
        bus=make_log(program.columns, config) if log else no_log(),
    )


def _words(program: Prepared, base: int, memory: npt.NDArray[np.uint8]) -> Ints:
    """The micro-ops that the program loads, or 0 beyond memory."""
    words = memory[: len(memory) // UOP_BYTES * UOP_BYTES].view("<u4")
    mask = address_mask(program.config)
    places = (base + program.source * UOP_BYTES & mask) // UOP_BYTES
    if len(places) and places.max() >= len(words):
        found = words[np.minimum(places, max(0, len(words) - 1))] if len(words) else 0
        return np.where(places < len(words), found, 0).astype(np.int64)
    return words[places].astype(np.int64)


def _uop_memory(config: HardwareConfig, uops: Ints) -> UopMemory:
    word = uop_layout(config)
    return UopMemory(
        uop=uops,
        src_shift=word["src"].lsb,
        wgt_shift=word["wgt"].lsb,
        dst_mask=word["dst"].limits[1],
        src_mask=word["src"].limits[1],
        wgt_mask=word["wgt"].limits[1],
        inp_depth=config.depth(MemoryId.INP),
        wgt_depth=config.depth(MemoryId.WGT),
        acc_depth=config.depth(MemoryId.ACC),
    )

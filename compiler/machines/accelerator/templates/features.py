"""Features of choices for a learned cost model, one column for each of `FEATURES`.

Sources: AutoTVM's knobs, touched bytes, reuse and trip counts (Chen et al., NeurIPS 2018, section
3.1 and appendix), Ansor's arithmetic and buffers (Zheng et al., OSDI 2020, appendix B), and what
models of machines with scratchpads count: traffic and occupancy of each memory, and the bounds of
each unit (Parashar et al., Timeloop, ISPASS 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from tandem.compiler.machines.accelerator.templates.lower_bound import (
    alu_cycles,
    array_cycles,
    bus_cycles,
)
from tandem.compiler.machines.accelerator.templates.machine_cost import MachineCost
from tandem.compiler.machines.accelerator.templates.template import AcceleratorTemplate
from tandem.compiler.machines.accelerator.templates.tiling import resident_operands
from tandem.compiler.machines.accelerator.templates.work_counts import TransferCounts, WorkCounts
from tandem.compiler.plan.space import Bools, Choices, Floats, Ints
from tandem.hw.topology import MemoryId

W = TypeVar("W", bound=Hashable)

_INP, _WGT, _UOP, _OUT = (MemoryId.INP,), (MemoryId.WGT,), (MemoryId.UOP,), (MemoryId.OUT,)
_LOADED = {"inp": _INP, "wgt": _WGT, "acc": (MemoryId.ACC, MemoryId.ACC_8BIT)}
_SIZES = {
    "threads": "virtual threads",
    "n": "rows of a tile of a matrix",
    "oc": "blocks of output channels of a tile",
    "y": "rows of a tile",
    "x": "columns of a tile",
    "ic": "blocks of input channels of a step of a sum",
    "part": "blocks of output channels of a part of a tile",
    "ky": "rows of the kernel that are multiplied at a time",
    "image_slots": "slots of the image, one half if each load of a tile has its own",
    "weight_slots": "slots of the weights, likewise",
    "sum_slots": "slots of the sums",
}
_WORDS = {"along": ("n", "oc", "y", "x"), "order": ("outputs", "weights", "image", "pixels")}


@dataclass(frozen=True, slots=True)
class _Counts:
    """The quantities from which features are computed."""

    choices: Choices
    usage: Mapping[MemoryId, Ints]
    work: WorkCounts
    cost: MachineCost

    def size(self, knob: str) -> Floats:
        sizes = self.choices.columns.get(knob, np.ones(len(self.choices)))
        return np.log2(np.maximum(0.5, sizes))

    def word(self, knob: str, setting: str) -> Bools:
        if knob in self.choices.columns:
            return self.choices.equals(knob, setting)
        return np.zeros(len(self.choices), np.bool_)

    def used(self, memory: MemoryId) -> Ints:
        if memory is MemoryId.UOP:
            return self.work.kernel * self.choices["threads"]
        return self.usage.get(memory, np.zeros(len(self.choices), np.int64))

    def occupied(self, memory: MemoryId) -> Floats:
        return self.used(memory) / self.cost.config.depth(memory)

    def _copies(self, *memories: MemoryId) -> list[TransferCounts]:
        return [each for each in self.work.copies if each.memory in memories]

    def moved(self, *memories: MemoryId) -> Floats:
        size = self.cost.element_bytes
        return np.asarray(
            sum(each.elements * size(each.memory) for each in self._copies(*memories))
        )

    def burst(self, *memories: MemoryId) -> Floats:
        rows = sum(each.bursts for each in self._copies(*memories))
        return self.moved(*memories) / np.maximum(1, rows)

    def calls(self, *memories: MemoryId) -> Floats:
        return np.asarray(sum(each.instructions for each in self._copies(*memories)))

    def product_reuse(self, *memories: MemoryId) -> Floats:
        return self.work.products / np.maximum(1, self.moved(*memories))

    def alu(self) -> Floats:
        return self.work.immediate + self.work.tensor + self.work.inputs

    def resets(self) -> Floats:
        return self.work.resets * (not self.cost.overwrites)

    def array_cycles(self) -> Floats:
        return array_cycles(self.work, self.cost)

    def alu_cycles(self) -> Floats:
        return alu_cycles(self.work, self.cost)

    def bus_cycles(self) -> Floats:
        return bus_cycles(self.work, self.cost)

    def lower_bound(self) -> Floats:
        return np.maximum(self.array_cycles() + self.alu_cycles(), self.bus_cycles())


_Value: TypeAlias = Callable[[_Counts], Floats | Ints | Bools]


def _of(method: Callable[..., Floats | Ints | Bools], *given: object) -> _Value:
    return lambda counts: method(counts, *given)


_TABLE: Mapping[str, tuple[str, _Value]] = {
    **{
        f"{knob} size": (f"knob: {meaning}, as a power of two", _of(_Counts.size, knob))
        for knob, meaning in _SIZES.items()
    },
    **{
        f"{knob} {word}": (f"knob: 1 where {knob} is {word}", _of(_Counts.word, knob, word))
        for knob, words in _WORDS.items()
        for word in words
    },
    "resident": ("knob: operands for each channel stay", lambda c: resident_operands(c.choices)),
    "tiles": ("trip count: tiles of the output", lambda counts: counts.work.tiles),
    "tiles of a thread": (
        "trip count: tiles that a thread computes",
        lambda counts: counts.work.tiles / counts.choices["threads"],
    ),
    "steps": (
        "trip count: instructions that multiply or reset, for a tile",
        lambda counts: counts.work.gemms / counts.work.tiles,
    ),
    **{
        f"{name} elements": (f"of {name.upper()} in use", _of(_Counts.used, at[0]))
        for name, at in (*_LOADED.items(), ("uop", _UOP))
    },
    **{
        f"{name} occupancy": (f"the part of {name.upper()} in use", _of(_Counts.occupied, at[0]))
        for name, at in (*_LOADED.items(), ("uop", _UOP))
    },
    **{
        f"{name} bytes": (f"moved between DRAM and {name.upper()}", _of(_Counts.moved, *at))
        for name, at in (*_LOADED.items(), ("out", _OUT))
    },
    "uop bytes": (
        "loaded for the longest kernels",
        lambda counts: counts.used(MemoryId.UOP) * counts.cost.element_bytes(MemoryId.UOP),
    ),
    **{
        f"{name} burst": (f"bytes of {name.upper()} together in DRAM", _of(_Counts.burst, *at))
        for name, at in (*_LOADED.items(), ("out", _OUT))
    },
    **{
        f"{name} copies": (f"LOADs or STOREs of {name.upper()}", _of(_Counts.calls, *at))
        for name, at in (*_LOADED.items(), ("out", _OUT))
    },
    "inp reuse": ("products for each byte of INP", _of(_Counts.product_reuse, *_INP)),
    "wgt reuse": ("products for each byte of WGT", _of(_Counts.product_reuse, *_WGT)),
    "acc reuse": (
        "ALU operations for each byte loaded into ACC",
        lambda counts: counts.alu() / np.maximum(1, counts.moved(*_LOADED["acc"])),
    ),
    "gemms": ("GEMM instructions, resets included", lambda counts: counts.work.gemms),
    "alus": ("ALU instructions", lambda counts: counts.work.alus),
    "kernel": ("micro-ops of the longest instruction", lambda counts: counts.work.kernel),
    "products": ("iterations of micro-ops that multiply", lambda counts: counts.work.products),
    "resets": ("iterations of micro-ops that reset", _of(_Counts.resets)),
    "alu operations": ("iterations of the ALU's micro-ops", _of(_Counts.alu)),
    "array cycles": ("bound: the array is busy so long", _of(_Counts.array_cycles)),
    "alu cycles": ("bound: the ALU is busy so long", _of(_Counts.alu_cycles)),
    "bus cycles": ("bound: the bus is busy so long", _of(_Counts.bus_cycles)),
    "least cycles": ("bound: of array and ALU, one unit, and of the bus", _of(_Counts.lower_bound)),
}

FEATURES: Mapping[str, str] = {name: meaning for name, (meaning, _) in _TABLE.items()}
"""The meaning of each column, by its name; the columns are the same for all templates."""

_COUNTS = ("bytes", "copies", "cycles", "gemms", "alus", "products", "resets", "alu operations")
COUNTED = tuple(
    at
    for at, name in enumerate(FEATURES)
    if name.endswith((*_COUNTS, "kernel", "tiles", "a thread"))
)
"""The columns that count what a whole layer takes: they grow with the layer."""


def features(
    template: AcceleratorTemplate[W], workload: W, choices: Choices, cost: MachineCost
) -> Floats:
    """The features of choices that fit: a matrix [choices, `FEATURES`]."""
    usage, work = template.usage(workload, choices), template.work_counts(workload, choices)
    counts = _Counts(choices, usage, work, cost)
    found = np.empty((len(choices), len(_TABLE)))
    for column, (_, value) in enumerate(_TABLE.values()):
        found[:, column] = value(counts)
    return found

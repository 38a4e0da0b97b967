"""Footprints: the on-chip elements that commands read and write, as arrays of runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from tandem.compiler.machines.accelerator.lower.commands import (
    Command,
    Compute,
    Copy,
    Ints,
    SetMode,
    SetTable,
)
from tandem.compiler.machines.accelerator.lower.compiled import runs_of
from tandem.hw.config import HardwareConfig
from tandem.hw.topology import MemoryId

KnownRuns: TypeAlias = dict[tuple[tuple[int, ...], int, int, int, int, int], list[tuple[int, int]]]
"""By the indices of an operand's micro-ops, extent and stride of both loops, and the number of the
memory's first element: the runs of its elements. Commands of a program share most operands."""

_CHIP = (MemoryId.INP, MemoryId.WGT, MemoryId.ACC, MemoryId.PAR)


def first_element(memory: MemoryId, config: HardwareConfig) -> int:
    """The number of a memory's first element, if INP, WGT, ACC and PAR are numbered consecutively.

    OUT and ACC_8BIT count as ACC: an element of OUT is written with that of ACC. Codes are of WGT.
    """
    memory = MemoryId.ACC if memory is MemoryId.OUT else memory.written
    at = _CHIP.index(memory) if memory in _CHIP else _CHIP.index(MemoryId.ACC)
    return sum(config.depth(each) for each in _CHIP[:at])


def chip_elements(config: HardwareConfig) -> int:
    """The total number of elements of INP, WGT, ACC and, if the machine has it, PAR."""
    return sum(config.depth(each) for each in _CHIP if each in config.memories)


@dataclass(frozen=True, slots=True, eq=False)
class Footprints:
    """On-chip elements that commands read and write, numbered by `first_element`, without UOP.

    Attributes
    ----------
    first
        For each command the index of its first run; then, last, the number of runs.
    runs
        [run, 3]: the first element, one past the last, and 1 for a write or 0 for a read. The
        written runs of a command do not overlap, nor do its read runs.
    keeps
        For each command, whether written elements' new values depend on their old ones.
    """

    first: Ints
    runs: Ints
    keeps: Ints

    @staticmethod
    def of(
        commands: Sequence[Command], config: HardwareConfig, runs_known: KnownRuns | None = None
    ) -> Footprints:
        """The footprint of each command.

        Parameters
        ----------
        runs_known
            Runs of operands on this machine that calls before have found; more are added.
        """
        begins = {memory: first_element(memory, config) for memory in MemoryId}
        used = np.zeros(chip_elements(config) + 1, dtype=np.bool_)
        operands: KnownRuns = {} if runs_known is None else runs_known
        known = dict[tuple[object, ...], list[tuple[int, int, int]]]()
        runs: list[list[tuple[int, int, int]]] = []
        for command in commands:
            if isinstance(command, Copy):
                runs.append(_of_copy(command, begins[command.memory]))
                continue
            if isinstance(command, SetMode | SetTable):
                runs.append([])
                continue
            par = None if command.mode is None else command.mode.par
            loops = command.kernel, command.outer, command.inner, par
            key = (*loops, command.source, command.reads_src, command.reads_wgt)
            if key not in known:
                known[key] = _of_compute(command, begins, used, operands)
            runs.append(known[key])
        keeps = [isinstance(each, Compute) and each.keeps for each in commands]
        flat = [run for each in runs for run in each]
        return Footprints(
            np.array([0, *accumulate(map(len, runs))], np.int64),
            np.array(flat, np.int64).reshape(-1, 3),
            np.array(keeps, np.int64),
        )

    @staticmethod
    def joined(parts: Sequence[Footprints]) -> Footprints:
        """The footprints of several sequences of commands as one sequence."""
        firsts, at = [np.zeros(1, np.int64)], 0
        for part in parts:
            firsts.append(part.first[1:] + at)
            at += len(part.runs)
        runs = [np.zeros((0, 3), np.int64), *(each.runs for each in parts)]
        keeps = [np.zeros(0, np.int64), *(each.keeps for each in parts)]
        return Footprints(*(np.concatenate(each) for each in (firsts, runs, keeps)))


def _of_copy(copy: Copy, begin: int) -> list[tuple[int, int, int]]:
    if copy.memory is MemoryId.UOP:
        return []
    at = begin + copy.sram
    return [(at, at + copy.size, int(copy.memory is not MemoryId.OUT))]


def _of_compute(
    command: Compute, begins: dict[MemoryId, int], used: np.ndarray, known: KnownRuns
) -> list[tuple[int, int, int]]:
    kernel, mode = command.kernel, command.mode
    operands = [("dst", kernel.dst, MemoryId.ACC, 1)]
    operands += [("src", kernel.src, command.source, 0)] if command.reads_src else []
    operands += [("wgt", kernel.wgt, MemoryId.WGT, 0)] if command.reads_wgt else []
    operands += [("par", (mode.par,), MemoryId.PAR, 0)] if mode is not None else []
    outer, inner, found = command.outer, command.inner, []
    for which, places, memory, written in operands:
        steps = outer.extent, getattr(outer, which), inner.extent, getattr(inner, which)
        key = places, *steps, begins[memory]
        if key not in known:
            edges = runs_of(np.array(places, np.int64), *steps, begins[memory], used)
            known[key] = [(low, past) for low, past in edges.tolist()]
        found += [(low, past, written) for low, past in known[key]]
    return found

"""Encoding of commands with tokens as instructions, and of kernels as micro-ops."""

from __future__ import annotations

from dataclasses import fields
from itertools import chain

import numpy as np

from tandem.compiler.machines.accelerator.lower.commands import (
    EMPTY,
    Command,
    Commands,
    Copy,
    Ints,
    SetMode,
    SetTable,
)
from tandem.compiler.machines.accelerator.lower.residency import KernelStore
from tandem.compiler.machines.accelerator.lower.tokens import TokenedCommands
from tandem.hw.config import HardwareConfig
from tandem.hw.encoding import Opcode
from tandem.hw.isa import Columns, Program, pack_uop_columns
from tandem.hw.topology import MemoryId, Unit

_NAMES = tuple(each.name for each in fields(Columns))
_INDICES = ("dst", "src", "wgt")


def encode_stream(
    commands: Commands, imm: Ints, uop: Ints, slots: TokenedCommands, config: HardwareConfig
) -> Program:
    """The program: an instruction for each entry of `slots`, and FINISH.

    Parameters
    ----------
    imm, uop
        For each command its immediate, and the address of its kernel in the micro-op memory.

    Raises
    ------
    tandem.hw.errors.EncodingError
        If a value does not fit its field; the message names the instruction.
    """
    command = slots.command
    prototypes = [fields_of(each, config) for each in (*commands.prototypes, EMPTY)]
    table = np.array([[each.get(name, 0) for name in _NAMES] for each in prototypes], np.int64)
    rows = table[np.append(commands.which, len(table) - 1)[command]]
    values = dict(zip(_NAMES, np.ascontiguousarray(rows.T), strict=True))
    added = {"dram_base": commands.dram, "imm": imm, "uop_bgn": uop, "uop_end": uop}
    for name, column in added.items():
        # Instructions without a command (-1) take the last entry.
        values[name] += np.append(column, 0)[command]
    for verb, bits in zip(("pop", "push"), slots.tokens.T, strict=True):
        # `prev` and `next`: neighbours in the order load, compute, store.
        values[f"{verb}_prev"] = (slots.unit > Unit.LOAD) & (bits << 1 >> slots.unit)
        values[f"{verb}_next"] = (slots.unit < Unit.STORE) & (bits >> slots.unit + 1)
    finish = {name: np.append(column, 0) for name, column in values.items()}
    finish["opcode"][-1] = Opcode.FINISH
    return Program.from_columns(config, Columns(**finish))


def encode_kernels(store: KernelStore, config: HardwareConfig) -> bytes:
    """The kernels' micro-ops as they lie in DRAM."""
    columns = (chain.from_iterable(getattr(k, name) for k in store.kernels) for name in _INDICES)
    return pack_uop_columns(config, *(np.fromiter(each, np.int64) for each in columns))


def fields_of(command: Command, config: HardwareConfig) -> dict[str, int]:
    """The fields of a command's instruction by name. The kernel's address counts as 0, and so does
    an immediate that the operator sets."""
    values: dict[str, int]
    if isinstance(command, Copy):
        values = {
            "opcode": Opcode.STORE if command.memory is MemoryId.OUT else Opcode.LOAD,
            "memory_type": command.memory,
            "sram_base": command.sram,
            "dram_base": command.dram,
            "y_size": command.rows,
            "x_size": command.columns,
            "x_stride": command.stride,
            "coding": command.coding,
            **dict(zip(("y_pad_0", "y_pad_1", "x_pad_0", "x_pad_1"), command.pads, strict=True)),
        }
    elif isinstance(command, SetMode):
        values = {"opcode": Opcode.REQUANTISE, "active": int(command.mode is not None)}
        if (mode := command.mode) is not None:
            values |= {name: int(value) for name, value in mode.immediates.items()}
            values["par_base"] = mode.par
            values |= {"par_factor_out": command.outer, "par_factor_in": command.inner}
    elif isinstance(command, SetTable):
        low, high = (
            int.from_bytes(bytes(entry & 0xFF for entry in half), "little")
            for half in (command.entries[:4], command.entries[4:])
        )
        values = {"opcode": Opcode.TABLE, "upper_half": int(command.upper)}
        values |= {"entries_low": low, "entries_high": high}
    else:
        values = {"uop_end": len(command.kernel)}
        for side, loop in (("out", command.outer), ("in", command.inner)):
            values[f"iter_{side}"] = loop.extent
            values |= {f"dst_factor_{side}": loop.dst, f"src_factor_{side}": loop.src}
            if command.op is None:
                values[f"wgt_factor_{side}"] = loop.wgt
        if command.op is None:
            values |= {"opcode": Opcode.GEMM, "reset_reg": int(command.reset)}
            values["overwrite"] = int(command.overwrite)
        else:
            imm = command.imm if isinstance(command.imm, int) else 0
            values |= {"opcode": Opcode.ALU, "imm": imm}
            values["alu_opcode"] = config.alu_opcode(command.op)
            values["use_imm"] = int(not command.reads_src)
            values["from_inp"] = int(command.from_inp)
    return values

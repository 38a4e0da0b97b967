"""The Widener: a weight of a block, written when its beat comes, is what its format says."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from amaranth.hdl import Array, Const, Mux, Signal

from tandem.hw.codings import TABLE_ENTRIES, Coding
from tandem.hw.config import HardwareConfig
from tandem.hw.features import Feature
from tandem.hw.rtl.load import load_memories
from tandem.hw.rtl.widener import Widener
from tandem.hw.topology import MemoryId
from tandem.hw.weight_formats import SCALE_BITS
from tandem.hw.widening import NARROW_ENTRIES, widening_of
from tests.formal.harness import Harness, implies
from tests.formal.plants import anything
from tests.formal.prover import prove, true_of_anything

BYTE = 8


@dataclass(frozen=True, slots=True)
class Chosen:
    """What the solver chooses once: a weight by its number in a block, and an entry of the table.
    `entry` and `scale`, the chosen weight's, are what was last written, where that is known."""

    weight: Any
    index: Any
    entry: Any
    entry_known: Any
    scale: Any
    scale_known: Any


def machine(log_block_in: int, log_block_out: int, bus_bits: int) -> HardwareConfig:
    """Nothing but compressed weights."""
    return HardwareConfig(
        name="proved",
        log_block_in=log_block_in,
        log_block_out=log_block_out,
        log_wgt_buffer=12,
        log_inp_buffer=10,
        log_acc_buffer=12,
        bus_bits=bus_bits,
        features=frozenset({Feature.COMPRESSED_WEIGHTS}),
    )


def widener_harness(block: Any, config: HardwareConfig) -> Harness:
    """Any beats in any order, of any memory, between any writes of the table; a weight and an
    entry, which the solver chooses."""
    harness = Harness()
    memories = load_memories(config)
    harness.module.submodules.dut = dut = block(config, memories)
    write = dut.write
    harness.free(write.valid, write.select, write.pad, write.address, write.bank, write.data)
    harness.free(write.coding, write.step, dut.set_entry)
    plain = write.select[memories.index(MemoryId.WGT)]
    coded = write.select[memories.index(MemoryId.WGT_CODES)]
    harness.suppose((write.select & (write.select - 1)) == 0)
    beats, step_is_used = _beats(config, write.coding)
    of_scales = coded & (write.coding == Coding.BITS_4_SCALED) & write.bank[-1] & ~write.pad
    harness.suppose(implies(coded & ~of_scales, write.bank < beats))
    harness.suppose(implies(~(coded & step_is_used), ~write.step))
    chosen = _choose(harness, dut, config, of_scales)

    here, value, known = _meaning(config, chosen, write)
    is_plain = plain & (write.bank == chosen.weight >> _log(config.bus_bytes))
    written = write.valid & (
        ((plain | coded) & write.pad) | is_plain | (coded & ~write.pad & ~of_scales & here)
    )
    byte = write.data.word_select(chosen.weight[: _log(config.bus_bytes)], BYTE)
    due = Mux(write.pad, 0, Mux(plain, byte, value))
    judged = written & (write.pad | plain | known)
    bank = chosen.weight >> _log(config.bus_bytes)
    enabled = dut.enable.bit_select(bank, 1)
    harness.must("writes_its_bank_when_it_comes", harness.delayed(written) == enabled)
    address = harness.delayed(write.address)
    harness.must("at_the_beats_address", implies(enabled, dut.address == address))
    part = chosen.weight[: _log(widening_of(config).word_banks * config.bus_bytes)]
    shown = dut.data.word_select(part, BYTE)
    asked, answer = harness.delayed(judged), harness.delayed(due)
    harness.must("writes_what_it_means", implies(asked, shown == answer[:BYTE]))
    _invariants(harness, config, chosen)

    harness.reach("padding", harness.delayed(written & write.pad & coded))
    harness.reach("int8", harness.delayed(is_plain & written & (byte != 0)))
    for coding in Coding:
        met = judged & coded & ~write.pad & (write.coding == coding)
        harness.reach(f"a_weight_of_{coding.name.lower()}", harness.delayed(met & (value != 0)))
    return harness


def _choose(harness: Harness, dut: Any, config: HardwareConfig, of_scales: Any) -> Chosen:
    """Choose after the reset, and follow what is written."""
    m, write = harness.module, dut.write
    size = config.element_bytes(MemoryId.WGT)
    weight = Signal(range(size), name="chosen_weight")
    index = Signal(range(TABLE_ENTRIES), name="chosen_index")
    begun = Signal(name="begun")
    first_weight, first_index = Signal.like(weight), Signal.like(index)
    harness.free(first_weight, first_index)
    entry, entry_known = Signal(BYTE, name="entry"), Signal(name="entry_known")
    scale, scale_known = Signal(SCALE_BITS, name="scale"), Signal(name="scale_known")
    harness.sync(begun.eq(1))
    harness.suppose(begun | ~(write.valid | dut.set_entry.valid))
    with m.If(~begun):
        m.d.sync += [weight.eq(first_weight), index.eq(first_index)]
    with m.Elif(dut.set_entry.valid & (dut.set_entry.index == index)):
        m.d.sync += [entry.eq(dut.set_entry.entry), entry_known.eq(1)]
    # Beats of scales have the highest numbers.
    row = weight >> _log(config.block_in)
    in_beat = config.bus_bits // SCALE_BITS
    number = (write.bank + widening_of(config).scale_beats)[: len(write.bank)]
    its_beat = number == (row >> _log(in_beat))
    with m.If(write.valid & of_scales & its_beat):
        place = row[: _log(in_beat)]
        m.d.sync += [scale.eq(write.data.word_select(place, SCALE_BITS)), scale_known.eq(1)]
    harness.invariant("knows_nothing_before", begun | ~(entry_known | scale_known))
    return Chosen(weight, index, entry, entry_known, scale, scale_known)


def _meaning(config: HardwareConfig, chosen: Chosen, write: Any) -> tuple[Any, Any, Any]:
    """Whether this step of a beat of codes has the chosen weight; its value, by the format; and
    whether that is known, because its code is the chosen one."""
    cases: list[tuple[Any, Any]] = []
    for coding in Coding:
        in_beat = config.bus_bits // coding.bits
        step = in_beat // widening_of(config).steps(coding)
        here = chosen.weight >> _log(step) == (
            write.bank * (in_beat // step) + (write.step if step < in_beat else 0)
        )
        code = write.data.word_select(chosen.weight[: _log(in_beat)], coding.bits)
        cases.append((here, code))
    here = Array(each for each, _ in cases)[write.coding]
    code = Array(each for _, each in cases)[write.coding]
    scaled = write.coding == Coding.BITS_4_SCALED
    value = (chosen.entry * Mux(scaled, chosen.scale, 1))[:BYTE]
    known = chosen.entry_known & (code == chosen.index) & (~scaled | chosen.scale_known)
    return here, value, known


def _beats(config: HardwareConfig, coding: Any) -> tuple[Any, Any]:
    """The beats of codes of a block, and whether a beat takes two steps."""
    sizes = [one.code_bytes(config.block_out, config.block_in, config.bus_bytes) for one in Coding]
    beats = Array(Const(size // config.bus_bytes, 16) for size in sizes)[coding]
    steps = Array(Const(widening_of(config).steps(one) > 1) for one in Coding)[coding]
    return beats, steps


def _invariants(harness: Harness, config: HardwareConfig, chosen: Chosen) -> None:
    """Every copy of the table has the entry, and the scale is kept."""
    names = {TABLE_ENTRIES: "wide_table", NARROW_ENTRIES: "narrow_table"}
    for entries, copies in widening_of(config).table_copies.items():
        for copy in range(copies):
            path = f"{names[entries]}_{copy}"
            words = Array(harness.peek(f"dut.{path}[{at}]", BYTE) for at in range(entries))
            same = words[chosen.index[: _log(entries)]] == chosen.entry
            reached = chosen.entry_known & (chosen.index < entries)
            harness.invariant(f"{path}_has_the_entry", implies(reached, same))
    kept = harness.peek("dut.kept", SCALE_BITS * config.block_out)
    row = chosen.weight >> _log(config.block_in)
    same = kept.word_select(row, SCALE_BITS) == chosen.scale
    harness.invariant("keeps_the_scale", implies(chosen.scale_known, same))


def _log(size: int) -> int:
    return size.bit_length() - 1


@pytest.mark.exhaustive
def test_every_run(tmp_path: Path) -> None:
    """A block of two beats of int8, of which each kind of codes fills both."""
    prove(widener_harness(Widener, machine(2, 2, 64)), tmp_path, reach=6)


@pytest.mark.exhaustive
def test_each_property_says_something(tmp_path: Path) -> None:
    harness = widener_harness(anything(Widener), machine(2, 2, 64))
    assert not true_of_anything(harness, tmp_path, steps=6)

"""The checker against the instruction set's rules."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any

import pytest

from tandem.hw.config import HardwareConfig
from tandem.hw.config_files import load_config
from tandem.hw.encoding import Opcode, WordLayout, alu_layout, memory_layout, opcodes_of
from tandem.hw.faults import Fault
from tandem.hw.features import Feature
from tandem.hw.isa import Instruction, Load, MemoryId, Store, encode
from tandem.hw.rtl.check import Check
from tandem.hw.timing import CHECK_STAGES
from tests.support.hw.rtl.rtl import Context, seeds, simulate
from tests.support.hw.rtl.words import faults_of, near_legal_word

# Half of the cases of each test run always.
pytestmark = pytest.mark.every(2)

TINY, PYNQ = load_config("tiny"), load_config("pynq")
CONFIGS = [
    TINY,
    PYNQ,
    load_config("small8"),
    PYNQ.replace(features=frozenset(Feature)),
    *(TINY.replace(features=frozenset({feature})) for feature in Feature),
]
FOUND_BY_CHECK = {fault for fault in Fault if fault <= Fault.FEATURE}


def check(config: HardwareConfig, words: list[int], rng: random.Random) -> list[Fault]:
    """The component's fault of each word; stages advance at random, never onto a word."""
    checker = Check(config)
    found: list[Fault] = []

    async def bench(ctx: Context) -> None:
        entered = 0
        held: list[int | None] = [None] * CHECK_STAGES
        while len(found) < len(words):
            # From the last stage to the first: a stage that is left can be entered.
            advance = 0
            for stage in reversed(range(CHECK_STAGES)):
                if held[stage] is not None and (stage < CHECK_STAGES - 1 or rng.random() < 0.2):
                    continue
                held[stage] = held[stage - 1] if stage else None
                if stage:
                    held[stage - 1] = None
                elif entered < len(words) and rng.random() < 0.8:
                    held[0], entered = entered, entered + 1
                advance |= 1 << stage
            ctx.set(checker.word, words[held[0]] if held[0] is not None and advance & 1 else 0)
            ctx.set(checker.advance, advance)
            await ctx.tick()
            fault = Fault(ctx.get(checker.fault))
            if held[-1] == len(found):
                found.append(fault)
            # It stays for as long as the word does.
            if held[-1] is not None:
                assert fault is found[held[-1]]
                assert ctx.get(checker.illegal) == (fault is not Fault.NONE)

    simulate(checker, bench)
    return found


def compare(config: HardwareConfig, words: list[int], rng: random.Random) -> set[Fault]:
    """Every word's fault is the rules'; which faults there were."""
    wanted = faults_of(config, words)
    for word, found, fault in zip(words, check(config, words, rng), wanted, strict=True):
        assert found is fault, f"{word:#034x} is {fault.name}, not {found.name}"
    return set(wanted)


@pytest.mark.parametrize("config", CONFIGS)
def test_near_legal_words(config: HardwareConfig) -> None:
    rng = random.Random(11)
    words = [near_legal_word(rng, config) for _ in range(1200)]
    assert compare(config, words, rng) == FOUND_BY_CHECK


@pytest.mark.parametrize("seed", seeds(1))
@pytest.mark.parametrize("config", CONFIGS)
def test_random_words(config: HardwareConfig, seed: int) -> None:
    rng = random.Random(seed)
    compare(config, [rng.getrandbits(128) for _ in range(400)], rng)


@pytest.mark.exhaustive
@pytest.mark.parametrize("seed", seeds(20))
@pytest.mark.parametrize("config", CONFIGS)
def test_many_words(config: HardwareConfig, seed: int) -> None:
    rng = random.Random(seed)
    words = [near_legal_word(rng, config) for _ in range(4000)]
    compare(config, words + [rng.getrandbits(128) for _ in range(2000)], rng)


@pytest.mark.parametrize("config", CONFIGS)
def test_ranges_to_the_element(config: HardwareConfig) -> None:
    """LOADs and STOREs that end with their memory, and one element beyond."""
    rng = random.Random(3)
    words: list[Instruction] = []
    wanted: list[Fault] = []
    for memory in set(config.memories) - {MemoryId.OUT}:
        depth = config.depth(memory)
        load = Load(memory=memory, sram_base=0, dram_base=0, y_size=1, x_size=1, x_stride=1)
        cases = [replace(load, x_size=min(depth, 65535), sram_base=depth - min(depth, 65535))]
        cases.append(replace(load, sram_base=depth - 16, x_pad_1=15))
        cases.append(replace(load, sram_base=depth - 9, y_size=1, y_pad_0=1, y_pad_1=1, x_pad_0=2))
        cases.append(replace(load, sram_base=depth - 1))
        for case in cases:
            words.append(case)
            wanted.append(Fault.NONE)
            words.append(replace(case, sram_base=case.sram_base + 1))
            wanted.append(Fault.SRAM_RANGE)
        huge: dict[str, Any] = {
            "x_size": 65535,
            "y_size": 65535,
            "x_pad_0": 15,
            "x_pad_1": 15,
            "y_pad_0": 15,
        }
        words += [replace(load, **huge, sram_base=65535), replace(load, x_size=0, sram_base=65535)]
        wanted += [Fault.SRAM_RANGE, Fault.NONE]
    depth = config.depth(MemoryId.OUT)
    store = Store(memory=MemoryId.OUT, sram_base=0, dram_base=0, y_size=4, x_size=1, x_stride=1)
    words += [replace(store, sram_base=depth - 4), replace(store, sram_base=depth - 3)]
    wanted += [Fault.NONE, Fault.SRAM_RANGE]
    numbers = [int.from_bytes(encode(config, each), "little") for each in words]
    assert faults_of(config, numbers) == wanted
    assert check(config, numbers, rng) == wanted


@pytest.mark.parametrize("config", CONFIGS)
def test_what_only_a_feature_allows(config: HardwareConfig) -> None:
    """Each opcode, memory and operation, and each combination of an operation with operands."""
    rng = random.Random(4)
    memory, alu = memory_layout(config), alu_layout(config)
    loop = 1 << alu["uop_end"].lsb | 1 << alu["iter_out"].lsb | 1 << alu["iter_in"].lsb | Opcode.ALU
    words = [*range(8)]
    words += [number << memory["memory_type"].lsb for number in range(8)]
    flags = [1 << alu[name].lsb for name in ("use_imm", "from_inp") if name in names(alu)]
    for op in range(8):
        for chosen in itertools.product((0, 1), repeat=len(flags)):
            operands = sum(flag for flag, is_set in zip(flags, chosen, strict=True) if is_set)
            words.append(loop | op << alu["alu_opcode"].lsb | operands)
    found = check(config, words, rng)
    assert found == faults_of(config, words)
    assert [fault is Fault.OPCODE for fault in found[:8]] == [
        number not in set(opcodes_of(config)) for number in range(8)
    ]
    assert [fault is Fault.MEMORY_ID for fault in found[8:16]] == [
        number not in set(config.memories) for number in range(8)
    ]
    assert found.count(Fault.FEATURE) >= 2 * (8 - len(config.operations))


def names(layout: WordLayout) -> set[str]:
    return {field.name for field in layout}

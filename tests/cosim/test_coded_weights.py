"""What a LOAD of codes puts into WGT, with every scale and code in every channel: each engine
against the formats' arithmetic."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.hw.codings import Coding
from tandem.hw.config_files import load_config
from tandem.hw.isa import Assembler, Loop, MemoryId, MicroOp, Program, Unit, pack_uops
from tandem.hw.topology import BASED
from tandem.hw.weight_blocks import packed_blocks
from tandem.hw.weight_formats import BINARY, INT4, MXFP4, NF4, TERNARY, WeightFormat
from tandem.sim.engines import make_engine
from tests.support.sim.launching import launch

CONFIG = load_config("tiny-w")
UOPS, ONES, CODES, RESULTS = 0x0, 0x400, 0x1000, 0x4000
IMAGE = 0x6000
FAR = 1 << 20
STRIDES = [stride | low for stride in (1 << bit for bit in range(16)) for low in range(2)]
COLUMNS = CONFIG.block_in
BLOCKS = CONFIG.depth(MemoryId.ACC) // COLUMNS
"""Blocks of weights whose products with all unit vectors ACC holds at once."""
ANY = WeightFormat("any", 4, (*range(-128, 128, 17),), scaled=True)
"""Products of its entries and scales leave int8, and keep their low bits."""


def codes_and_scales(form: WeightFormat) -> tuple[np.ndarray, np.ndarray]:
    """For each scale and each code, a block in whose rows and columns others follow."""
    codes, scales = 1 << form.bits, 16 if form.scaled else 1
    blocks = np.arange(-(-codes * scales // BLOCKS) * BLOCKS)[:, np.newaxis, np.newaxis]
    row = np.arange(CONFIG.block_out)[:, np.newaxis]
    code = (blocks + row + 3 * np.arange(COLUMNS)) % codes
    scale = (blocks // codes + 5 * row) % scales
    return code.astype(np.uint8), scale[..., 0].astype(np.uint8)


def program(form: WeightFormat, count: int, beats: int) -> Program:
    """Multiply unit vectors by `count` blocks, each of `beats` beats: OUT has their columns."""
    asm, load, compute, store = Assembler(CONFIG), Unit.LOAD, Unit.COMPUTE, Unit.STORE
    loops = (Loop(BLOCKS, dst=COLUMNS, wgt=1), Loop(COLUMNS, dst=1, src=1))
    asm.load(MemoryId.UOP, sram=0, dram=UOPS, columns=1)
    ones = ONES // CONFIG.element_bytes(MemoryId.INP)
    asm.load(MemoryId.INP, sram=0, dram=ones, columns=COLUMNS)
    asm.table(form.table)
    first, out = CODES // CONFIG.bus_bytes, RESULTS // CONFIG.element_bytes(MemoryId.OUT)
    for begin in range(0, count, BLOCKS):
        asm.load(
            MemoryId.WGT_CODES,
            sram=0,
            dram=first + begin * beats,
            columns=BLOCKS,
            coding=Coding.of(form),
            waits_for=compute if begin else (),
            signals=compute,
        )
        waits = (load, store) if begin else load
        asm.gemm((0, 1), loops, overwrite=True, waits_for=waits, signals=(load, store))
        asm.store(
            sram=0,
            dram=out + begin * COLUMNS,
            columns=BLOCKS * COLUMNS,
            waits_for=compute,
            signals=compute,
        )
    asm.nop(load, waits_for=compute)
    asm.finish(waits_for=store)
    return asm.build()


@pytest.mark.parametrize(
    "form", [BINARY, TERNARY, NF4, INT4, MXFP4, ANY], ids=lambda form: form.name
)
@pytest.mark.parametrize("name", ["functional", "cycle", "rtl"])
def test_every_scale_and_code(name: str, form: WeightFormat) -> None:
    codes, scales = codes_and_scales(form)
    packed = packed_blocks(CONFIG, Coding.of(form), codes, scales if form.scaled else None)
    beats, rest = divmod(packed.size, len(codes) * CONFIG.bus_bytes)
    assert rest == 0
    image = np.zeros(IMAGE, np.uint8)
    for address, data in (
        (UOPS, pack_uops(CONFIG, [MicroOp(0)])),
        (ONES, np.eye(COLUMNS, dtype=np.int8).tobytes()),
        (CODES, packed.tobytes()),
    ):
        image[address : address + len(data)] = np.frombuffer(data, np.uint8)
    engine = make_engine(name, CONFIG)
    _, after = launch(engine, program(form, len(codes), beats), image, max_cycles=100_000)
    engine.close()
    weights = form.widened(codes, scales[..., np.newaxis])
    expected = np.ascontiguousarray(weights.transpose(0, 2, 1)).astype(np.int8)
    found = after[RESULTS:][: expected.size].view(np.int8).reshape(expected.shape)
    np.testing.assert_array_equal(found, expected)
    for row, column in np.ndindex(codes.shape[1:]):
        pairs = zip(codes[:, row, column].tolist(), scales[:, row].tolist(), strict=True)
        assert len({*pairs}) == (1 << form.bits) * (16 if form.scaled else 1)


def two_blocks(form: WeightFormat, place: int, stride: int, sram: int) -> Program:
    """Load two rows of a block each, from beats `place` and `place + stride` on, to the end of a
    row with padding, and multiply unit vectors by all of them."""
    asm, load, compute, store = Assembler(CONFIG), Unit.LOAD, Unit.COMPUTE, Unit.STORE
    loops = (Loop(BLOCKS, dst=COLUMNS, wgt=1), Loop(COLUMNS, dst=1, src=1))
    asm.load(MemoryId.UOP, sram=0, dram=UOPS, columns=1)
    ones = ONES // CONFIG.element_bytes(MemoryId.INP)
    asm.load(MemoryId.INP, sram=0, dram=ones, columns=COLUMNS)
    asm.load(MemoryId.WGT, sram=0, dram=0, columns=CONFIG.depth(MemoryId.WGT))
    asm.table(form.table)
    asm.load(
        MemoryId.WGT_CODES,
        sram=sram,
        dram=place,
        columns=1,
        rows=2,
        stride=stride,
        pad=(0, 0, 1, 0),
        coding=Coding.of(form),
        signals=compute,
    )
    asm.gemm((0, 1), loops, overwrite=True, waits_for=load, signals=store)
    out = RESULTS // CONFIG.element_bytes(MemoryId.OUT)
    asm.store(sram=0, dram=out, columns=BLOCKS * COLUMNS, waits_for=compute, signals=compute)
    asm.finish(waits_for=store)
    return asm.build()


@pytest.mark.parametrize("place", [0x5555, 0xAAAA], ids=hex)
def test_every_bit_of_a_stride_of_codes(place: int) -> None:
    """Rows of codes far apart, behind weights' base register: the compiled engine against
    `functional`."""
    functional, compiled = make_engine("functional", CONFIG), make_engine("rtl", CONFIG)
    memory = np.random.default_rng(0).integers(0, 256, 2 * FAR, np.uint8)
    image = np.zeros(IMAGE, np.uint8)
    image[ONES:][: COLUMNS * CONFIG.block_in] = (
        np.eye(COLUMNS, dtype=np.int8).ravel().view(np.uint8)
    )
    word = np.frombuffer(pack_uops(CONFIG, [MicroOp(0)]), np.uint8)
    image[UOPS:][: len(word)] = word
    memory[:IMAGE] = image
    bases = tuple(IMAGE if one is MemoryId.WGT else 0 for one in BASED)
    results = set()
    for number, stride in enumerate(STRIDES):
        form = (BINARY, TERNARY, INT4, ANY)[number % 4]
        program = two_blocks(form, place, stride, number % (BLOCKS - 3))
        _, wanted = launch(functional, program, memory, bases=bases)
        _, found = launch(compiled, program, memory, bases=bases, max_cycles=10_000)
        np.testing.assert_array_equal(found, wanted, err_msg=f"stride {stride}")
        results.add(found[RESULTS:][: BLOCKS * COLUMNS * CONFIG.block_out].tobytes())
    assert len(results) == len(STRIDES)
    compiled.close()

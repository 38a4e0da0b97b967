"""Accesses to vectors: how many of them, of what, and what they read and write, against NumPy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from llvmlite import ir
from numpy.typing import NDArray

from tandem.compiler.ir.buffer import Buffer
from tandem.compiler.ir.dtypes import FLOAT32, FLOAT64, INT8, INT32, DType
from tandem.compiler.machines.cpu.codegen import CpuTarget, vector_access
from tandem.compiler.machines.cpu.codegen.frame import BufferLocation, Frame
from tandem.compiler.machines.cpu.codegen.llvm import I64, constant, memory_type
from tandem.compiler.machines.cpu.codegen.offset import Offset
from tandem.compiler.machines.cpu.processors import PROCESSORS
from tests.support.compiler.machines.cpu.emitted import (
    AVX2,
    AVX512,
    SSE,
    accesses,
    fixed_masks,
    frame_of,
    instructions,
    mask_of,
    opcodes,
    run_emitted,
)

TARGETS = pytest.mark.parametrize("target", [SSE, AVX2, AVX512], ids=["sse", "avx2", "avx512"])
SIZE = 64
A, C = (Buffer(name, (SIZE,), FLOAT32) for name in "AC")


def opened(target: CpuTarget, lanes: int, dtype: DType = FLOAT32) -> tuple[Frame, Any, Any]:
    """A frame in that many lanes, and the pointers of A and C, each of 64 elements."""
    frame = frame_of(target, *(replace(each, dtype=dtype) for each in (A, C)))
    frame.lanes = lanes
    return frame, *frame.builder.function.args[:2]


def numbers(dtype: DType) -> NDArray[Any]:
    """1, 2, ..., none of which is zero."""
    return np.arange(1, SIZE + 1).astype(dtype.numpy)


def alternate(lanes: int) -> list[bool]:
    """Two lanes of three are active, the last one among them."""
    return [(lanes - 1 - lane) % 3 != 1 for lane in range(lanes)]


@TARGETS
@pytest.mark.parametrize(
    ("lanes", "masked", "dtype"),
    [
        (4, False, INT32),
        (7, False, FLOAT32),
        (7, True, INT8),
        (16, True, FLOAT32),
        (24, True, FLOAT64),
    ],
)
def test_neighbours(lanes: int, masked: bool, dtype: DType, target: CpuTarget) -> None:
    """Lanes that are not active read zeros and store nothing, nor does what fills a vector up."""
    frame, source, sink = opened(target, lanes, dtype)
    truths = alternate(lanes) if masked else [True] * lanes
    mask = mask_of(truths) if masked else None
    element = memory_type(dtype)
    value = vector_access.load_vector(frame, frame.places["A"], element, source, mask)
    assert value.type == ir.VectorType(element, lanes)
    vector_access.write(frame, C, value, sink)
    behind = vector_access.step(frame, sink, constant(I64, 32), element)
    vector_access.store_vector(frame, frame.places["C"], value, behind, mask)
    a, c = numbers(dtype), np.full(SIZE, 100, dtype.numpy)
    run_emitted(frame, a, c)
    assert c[:lanes].tolist() == np.where(truths, a[:lanes], 0).tolist()
    assert c[lanes:32].tolist() == [100] * (32 - lanes)
    assert c[32 : 32 + lanes].tolist() == np.where(truths, a[:lanes], 100).tolist()
    assert c[32 + lanes :].tolist() == [100] * (32 - lanes)


@pytest.mark.parametrize("dtype", [INT8, INT32, FLOAT32, FLOAT64], ids=str)
def test_an_odd_number_of_lanes(dtype: DType) -> None:
    """With free masks one access of the next power of two, whose other lanes are not active."""
    element = memory_type(dtype)
    for target, lanes in ((SSE, 7), (AVX2, 7), (AVX512, 7), (AVX512, 1), (AVX512, 2), (AVX512, 8)):
        frame, source, sink = opened(target, lanes, dtype)
        value = vector_access.load_vector(frame, frame.places["A"], element, source, None)
        vector_access.store_vector(frame, frame.places["C"], value, sink, None)
        if (target, lanes) == (AVX512, 7):
            words = [f"llvm.masked.{each}.v8{element.intrinsic_name}" for each in ("load", "store")]
            assert accesses(frame) == words
            assert fixed_masks(frame) == [[1] * 7 + [0]] * 2
        else:
            assert accesses(frame) == ["load", "store"]


def test_memory_on_the_stack_is_not_filled_up() -> None:
    """LLVM makes registers of it."""
    frame, source, sink = opened(AVX512, 7)
    on_stack = BufferLocation(A, source, stack=True)
    value = vector_access.load_vector(frame, on_stack, ir.FloatType(), source, None)
    vector_access.store_vector(frame, on_stack, value, sink, None)
    assert accesses(frame) == ["load", "store"]


def test_masked_loads_of_avx2_are_of_one_register() -> None:
    for target, lanes, kinds in (
        (AVX2, 8, ["v8f32"]),
        (AVX2, 9, ["v8f32", "v1f32"]),
        (AVX2, 20, ["v8f32", "v8f32", "v4f32"]),
        (AVX512, 20, ["v20f32"]),
        (SSE, 20, ["v20f32"]),
    ):
        frame, source, _ = opened(target, lanes)
        kind = ir.VectorType(ir.FloatType(), lanes)
        mask = mask_of(alternate(lanes))
        value = vector_access.read(frame, A, kind, source, mask)
        assert value.type == kind
        assert accesses(frame) == [f"llvm.masked.load.{each}" for each in kinds]


def test_free_masks() -> None:
    """In lanes of bytes and words they are an instruction set of their own."""
    kinds = [*map(ir.IntType, (8, 16, 31, 32, 64)), ir.FloatType(), ir.DoubleType()]
    for features, free in (
        (("avx512bw", "avx512f", "avx512vl"), kinds),
        (("avx512bw", "avx512vl"), kinds[:3]),
        (("avx512f", "avx512vl"), kinds[3:]),
        (("avx512bw", "avx512f"), []),
    ):
        frame, _, _ = opened(replace(AVX512, features=features), 4)
        assert [each for each in kinds if vector_access.free_masks(frame, each)] == free


def test_bits_of_elements() -> None:
    kinds = [*map(ir.IntType, (8, 16, 64)), ir.FloatType(), ir.DoubleType()]
    assert [vector_access.bits_of(each) for each in kinds] == [8, 16, 64, 32, 64]


@TARGETS
@pytest.mark.parametrize(
    ("apart", "lanes", "dtype"),
    [(2, 8, INT8), (3, 5, FLOAT32), (4, 2, FLOAT64), (4, 5, INT32), (2, 5, FLOAT64)],
)
def test_strided(apart: int, lanes: int, dtype: DType, target: CpuTarget) -> None:
    frame, source, sink = opened(target, lanes, dtype)
    element = memory_type(dtype)
    truths = alternate(lanes)
    found = [vector_access.strided(frame, A, element, source, apart)]
    one = vector_access.picked_from_one(frame, element, apart)
    if one:
        assert len(accesses(frame)) == 1
        found.append(vector_access.strided(frame, A, element, source, apart, mask_of(truths)))
        # From the first to the last, and no more.
        assert fixed_masks(frame)[0] == [
            int(at % apart == 0 and at <= (lanes - 1) * apart)
            for at in range(1 << ((lanes - 1) * apart).bit_length())
        ]
    else:
        assert len(accesses(frame)) == apart
    for number, value in enumerate(found):
        at = vector_access.step(frame, sink, constant(I64, number * lanes), element)
        vector_access.write(frame, C, value, at)
    a, c = numbers(dtype), np.zeros(SIZE, dtype.numpy)
    run_emitted(frame, a, c)
    wanted = a[: apart * lanes : apart]
    assert c[:lanes].tolist() == wanted.tolist()
    if one:
        assert c[lanes : 2 * lanes].tolist() == np.where(truths, wanted, 0).tolist()


@pytest.mark.parametrize("lanes", [4, 6])
def test_strided_ends_with_the_last_element(lanes: int) -> None:
    """None of several vectors reaches beyond it."""
    frame, source, _ = opened(AVX512.without("avx512bw"), lanes, INT8)
    vector_access.strided(frame, A, ir.IntType(8), source, 3)
    steps = [each for each in instructions(frame) if each.opname == "getelementptr"]
    starts = [int(each.operands[1].constant) for each in steps]
    assert starts == [0, lanes, 2 * lanes - 2]


def test_what_is_picked_out_of_one_register() -> None:
    """Of 512 bits, filled up to a power of two: 3 * 15 elements are 64, 2 * 8 are 32."""
    most = {(8, 4): 16, (32, 2): 8, (64, 3): 3, (64, 4): 2}
    for (bits, apart), lanes in most.items():
        for target, count in ((AVX512, lanes), (AVX512, lanes + 1), (AVX2, lanes)):
            frame, _, _ = opened(target, count)
            one = vector_access.picked_from_one(frame, ir.IntType(bits), apart)
            assert one is (target is AVX512 and count == lanes)


def test_several_vectors_have_no_mask() -> None:
    frame, source, _ = opened(AVX2, 2)
    with pytest.raises(AssertionError, match="several vectors are read in full"):
        vector_access.strided(frame, A, ir.FloatType(), source, 2, mask_of([True] * 2))


@TARGETS
@pytest.mark.parametrize("masked", [False, True])
def test_at_any_addresses(masked: bool, target: CpuTarget) -> None:
    frame, source, sink = opened(target, 5)
    element, places = ir.FloatType(), [9, 0, 33, 2, 50]
    truths = [True, False, True, False, True] if masked else [True] * 5
    mask = mask_of(truths) if masked else None
    offsets = constant(ir.VectorType(I64, 5), places)
    at = vector_access.step(frame, source, offsets, element)
    assert [vector_access.scattered(each) for each in (at, source)] == [True, False]
    values = [
        vector_access.gather(frame, A, element, at, 0, mask),
        vector_access.gather(frame, A, element, at, 2, mask),
        vector_access.gather(frame, A, element, source, 7, mask),
    ]
    for number, value in enumerate(values):
        where = vector_access.step(frame, sink, constant(I64, number * 5), element)
        vector_access.scatter(frame, C, value, where, 1, None)
    end = vector_access.step(frame, sink, constant(I64, 63), element)
    vector_access.scatter(frame, C, values[0], end, -10, mask)
    # The last of lanes with equal addresses is stored.
    one = vector_access.step(frame, sink, constant(I64, 40), element)
    vector_access.scatter(frame, C, values[0], one, 0, None)
    kinds = ["llvm.masked.gather.v5f32.v5p0"] * 3 + ["llvm.masked.scatter.v5f32.v5p0"] * 5
    assert [each for each in opcodes(frame) if each.startswith("llvm.masked")] == kinds
    a, c = numbers(FLOAT32), np.zeros(SIZE, np.float32)
    run_emitted(frame, a, c)
    lanes = np.arange(5)
    wanted = [a[places], a[places + 2 * lanes], a[7 * lanes]]
    assert c[:15].tolist() == np.where(truths * 3, np.concatenate(wanted), 0).tolist()
    assert c[40:42].tolist() == [51, 0]
    assert c[63 - 10 * lanes].tolist() == np.where(truths, wanted[0], 0).tolist()


@TARGETS
@pytest.mark.parametrize("masked", [False, True])
def test_each_lane_repeats(masked: bool, target: CpuTarget) -> None:
    """Three lanes of two elements each."""
    frame, source, sink = opened(target, 3)
    truths = [True, False, True]
    value = vector_access.read(frame, A, ir.VectorType(ir.FloatType(), 6), source)
    mask = mask_of(truths) if masked else None
    vector_access.store_repeated(frame, C, value, sink, mask)
    wide = "llvm.masked.store.v8f32" if target is AVX512 else "llvm.masked.store.v6f32"
    assert accesses(frame)[1] == (wide if masked or target is AVX512 else "store")
    a, c = numbers(FLOAT32), np.zeros(SIZE, np.float32)
    run_emitted(frame, a, c)
    kept = np.repeat(truths if masked else [True] * 3, 2)
    assert c[:8].tolist() == [*np.where(kept, a[:6], 0).tolist(), 0, 0]


def test_accesses_say_how_they_are_aligned() -> None:
    """A buffer may begin at any element."""
    for dtype, size in ((INT8, 1), (FLOAT32, 4), (FLOAT64, 8)):
        frame, source, sink = opened(SSE, 4, dtype)
        own, kind = replace(A, dtype=dtype), ir.VectorType(memory_type(dtype), 4)
        plain = vector_access.read(frame, own, kind, source)
        masked = vector_access.read(frame, own, kind, source, mask_of([True] * 4))
        vector_access.write(frame, own, plain, sink)
        vector_access.write(frame, own, masked, sink, mask_of([True] * 4))
        load, read, store, write = instructions(frame)
        assert (load.align, store.align) == (size, size)
        assert (str(read.args[1]), str(write.args[2])) == (f"i32 {size}",) * 2
        scopes = [each.metadata["alias.scope"] for each in (load, read, store, write)]
        assert scopes == [frame.tags["A"][0]] * 4


def test_lines_are_prefetched_once_in_a_body() -> None:
    """8 KB ahead, a line of 64 bytes after the other, of buffers that are streamed."""
    frame, source, _ = opened(AVX512, 40)
    kind = ir.VectorType(ir.FloatType(), 40)
    vector_access.prefetch(frame, A, kind, source, Offset(0))
    assert opcodes(frame) == []
    frame.streamed = frozenset({"A"})
    for number in (0, 15, 16):
        vector_access.prefetch(frame, A, kind, source, Offset(number))
        # Element 15 is in the line of element 0.
        assert opcodes(frame).count("llvm.prefetch.p0") == (6 if number == 16 else 3)
    steps, calls = instructions(frame)[:6:2], instructions(frame)[1:6:2]
    assert [int(each.operands[1].constant) for each in steps] == [8192, 8256, 8320]
    assert {each.source_etype for each in steps} == {ir.IntType(8)}
    # To read, at the second level, and data.
    assert [[int(part.constant) for part in each.args[1:]] for each in calls] == [[0, 2, 1]] * 3


def test_steps_are_of_the_pointer_size() -> None:
    """And a pointer keeps its space of addresses."""
    for name, bits in (("rv32im", 32), ("rv64gc", 64)):
        frame = frame_of(PROCESSORS[name], Buffer("A", (SIZE,), FLOAT32), numbers=["i"])
        pointer, index = frame.builder.function.args
        found = vector_access.step(frame, pointer, index, ir.FloatType())
        assert found.operands[1].type == ir.IntType(bits)
        lanes = constant(ir.VectorType(I64, 3), [0, 1, 2])
        many = vector_access.step(frame, found, lanes, ir.FloatType())
        assert many.type == ir.VectorType(ir.PointerType(), 3)
        again = vector_access.step(frame, many, index, ir.FloatType())
        assert again.type == ir.VectorType(ir.PointerType(), 3)
    near = ir.Constant(ir.PointerType(addrspace=3), None)
    assert vector_access.step(frame, near, index, ir.FloatType()).type.addrspace == 3

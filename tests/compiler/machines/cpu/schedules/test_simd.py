"""What processors are taken for, by their features."""

from __future__ import annotations

import pytest

from tandem.compiler.ir.dtypes import FLOAT32, FLOAT64, INT8, INT32, INT64, UINT8, DType
from tandem.compiler.machines.cpu.codegen import CpuTarget
from tandem.compiler.machines.cpu.processors import PROCESSORS
from tandem.compiler.machines.cpu.schedules.simd import Simd


def x86_64(features: tuple[str, ...]) -> CpuTarget:
    return CpuTarget("x86_64-unknown-linux-gnu", "", features)


@pytest.mark.parametrize(
    ("name", "lanes", "registers"),
    [("cortex-a53", 4, 32), ("neoverse-n1", 4, 32), ("rv64gcv", 4, 32), ("rv64gc", 2, 32)],
)
def test_vectors_of_other_architectures(name: str, lanes: int, registers: int) -> None:
    simd = Simd.of(PROCESSORS[name])
    assert (simd.lanes(FLOAT32), simd.registers) == (lanes, registers)


AVX512 = ("avx", "avx2", "avx512f", "avx512vnni", "fma")


@pytest.mark.parametrize(
    ("features", "lanes", "registers"),
    [(AVX512, 16, 32), (AVX512[:3], 16, 32), (AVX512[:2], 8, 16), (("sse2",), 4, 16), ((), 4, 16)],
)
def test_vectors(features: tuple[str, ...], lanes: int, registers: int) -> None:
    simd = Simd.of(x86_64(features))
    assert simd.lanes(FLOAT32) == lanes
    assert simd.lanes(FLOAT64) == lanes // 2
    assert simd.registers == registers


@pytest.mark.parametrize(
    ("features", "left", "right", "sums", "expected"),
    [
        (AVX512, UINT8, INT8, INT32, "vnni_u8s8_16x4"),
        (AVX512, INT8, INT8, INT32, "vnni_s8s8_16x4"),
        (AVX512[:3], INT8, INT8, INT32, "avx2_s8s8_8x4"),
        (AVX512[:2], UINT8, INT8, INT32, "avx2_u8s8_8x4"),
        (AVX512, UINT8, INT8, INT64, None),
        (AVX512, INT8, UINT8, INT32, None),
        (AVX512, FLOAT32, FLOAT32, FLOAT32, None),
        (AVX512[:1], UINT8, INT8, INT32, None),
    ],
)
def test_dot_products(
    features: tuple[str, ...], left: DType, right: DType, sums: DType, expected: str | None
) -> None:
    found = Simd.of(x86_64(features)).dot(left, right, sums)
    assert (found.name if found else None) == expected


@pytest.mark.parametrize(
    ("name", "left", "expected"),
    [
        ("cortex-a53", INT8, "smull_s8s8_4x2"),
        ("cortex-a72", INT8, "smull_s8s8_4x2"),
        ("cortex-a72", UINT8, None),
        ("cortex-a55", INT8, "sdot_s8s8_4x4"),
        ("neoverse-n1", INT8, "sdot_s8s8_4x4"),
        ("rv64gcv", INT8, None),
    ],
)
def test_dot_products_of_other_architectures(name: str, left: DType, expected: str | None) -> None:
    found = Simd.of(PROCESSORS[name]).layer_dot(left, INT8, INT32)
    assert (found.name if found else None) == expected


@pytest.mark.parametrize(
    ("name", "floats", "integers"),
    [("neoverse-n1", 32, 32), ("rv64gc", 16, 9), ("rv64gcv", 32, 32), ("cortex-m4", 16, 16)],
)
def test_registers_of_a_tile(name: str, floats: int, integers: int) -> None:
    """Where each lane is a register, and integers share theirs with addresses, there are fewer."""
    simd = Simd.of(PROCESSORS[name])
    assert simd.tile_registers(FLOAT32) == floats
    assert simd.tile_registers(INT32) == integers


def test_permutations_are_the_processors() -> None:
    target = x86_64((*AVX512, "avx512vl"))
    assert Simd.of(target).permuted == {bits for bits in (8, 16, 32, 64) if target.permutes(bits)}


@pytest.mark.parametrize("stride", [1, 2, 3, 4, 5])
def test_dot_products_of_windows(stride: int) -> None:
    found = Simd.of(x86_64((*AVX512, "avx512vbmi"))).windows(stride)
    assert (found.name if found else None) == (
        f"vnni_windows_{stride}_16x4" if stride < 5 else None
    )
    assert Simd.of(x86_64(AVX512)).windows(stride) is None

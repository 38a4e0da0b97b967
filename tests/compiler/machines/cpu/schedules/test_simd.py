"""What processors are taken for, by their features."""

from __future__ import annotations

import pytest

from tandem.compiler.ir.dtypes import FLOAT32, FLOAT64, INT8, INT32, INT64, UINT8, DType
from tandem.compiler.machines.cpu.schedules.simd import Simd

AVX512 = ("avx", "avx2", "avx512f", "avx512vnni", "fma")


@pytest.mark.parametrize(
    ("features", "lanes", "registers"),
    [(AVX512, 16, 32), (AVX512[:3], 16, 32), (AVX512[:2], 8, 16), (("sse2",), 4, 16), ((), 4, 16)],
)
def test_vectors(features: tuple[str, ...], lanes: int, registers: int) -> None:
    simd = Simd.of(features)
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
    found = Simd.of(features).dot(left, right, sums)
    assert (found.name if found else None) == expected

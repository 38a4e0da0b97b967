"""Products of matrices by a warp, `mma` and `ldmatrix`, on this processor: the threads of a warp
wait for each other, and each multiplies what all of them have in registers.

Which element of a matrix is in which register of which lane is written down as NVIDIA does, by
row and column (PTX ISA, "Matrix Fragments for mma.m16n8k32" and "... mma.m16n8k16 with floating
point type").
"""

from __future__ import annotations

import ctypes
import re
import threading
from typing import Any

import numpy as np
from numpy.typing import NDArray

WARP = 32
_REGISTERS = 10
"""Of a lane: four of the left operand, two of the right one, four sums."""
_REGISTERS_AT = ctypes.POINTER(ctypes.c_uint32)
MULTIPLY = ctypes.CFUNCTYPE(None, ctypes.c_int32, _REGISTERS_AT)
LOAD = ctypes.CFUNCTYPE(None, ctypes.c_int32, ctypes.c_uint64, _REGISTERS_AT)
_TYPES: dict[str, tuple[Any, Any]] = {
    "m16n8k32.row.col.s8": (np.int8, np.int8),
    "m16n8k32.row.col.u8": (np.uint8, np.uint8),
    "m16n8k32.row.col.s8.u8": (np.int8, np.uint8),
    "m16n8k32.row.col.u8.s8": (np.uint8, np.int8),
    "m16n8k16.row.col.f32.f32": (np.float16, np.float16),
}


def with_warp_products(text: str) -> str:
    """A module with the bodies of the `llvm.nvvm.mma` and `llvm.nvvm.ldmatrix` that it declares:
    calls of `host.multiply` and `host.load`."""
    products = [each for each in _TYPES if f'"llvm.nvvm.mma.{each}"(' in text]
    loads = sorted({int(each) for each in re.findall(r"ldmatrix\S*\.x(\d)\.", text)})
    text = re.sub(r'declare [^\n]*@"llvm\.nvvm\.(mma|ldmatrix)[^\n]*\n', "", text)
    text = re.sub(r"llvm\.nvvm\.ldmatrix\S*\.x(\d)\.b16\.p3", r"host.ldmatrix.x\1", text)
    text = text.replace("llvm.nvvm.mma", "host.mma")
    heads = ['declare void @"host.multiply"(i32, ptr)', 'declare void @"host.load"(i32, i64, ptr)']
    return "\n".join((text, *heads, *map(_product, products), *map(_load, loads)))


def _product(name: str) -> str:
    """A product: of the registers that it passes, the last four are written."""
    sums = range(_REGISTERS - 4, _REGISTERS)
    kinds = ["i32"] * _REGISTERS
    if _TYPES[name][0] is np.float16:
        kinds = ["float" if number in sums else "<2 x half>" for number in range(_REGISTERS)]
    passed = ", ".join(f"{kind} %r{number}" for number, kind in enumerate(kinds))
    lines = [f"%all = alloca [{_REGISTERS} x i32]"]
    for number, kind in enumerate(kinds):
        lines.append(f"%p{number} = getelementptr i32, ptr %all, i32 {number}")
        lines.append(f"store {kind} %r{number}, ptr %p{number}")
    lines.append(f'call void @"host.multiply"(i32 {[*_TYPES].index(name)}, ptr %all)')
    return _function(f"host.mma.{name}", passed, lines, [*sums], kinds[-1])


def _load(count: int) -> str:
    """A load of matrices, of which this lane gives the address of a row."""
    lines = [f"%all = alloca [{count} x i32]", "%at = ptrtoint ptr %row to i64"]
    lines += [f"%p{number} = getelementptr i32, ptr %all, i32 {number}" for number in range(count)]
    lines.append(f'call void @"host.load"(i32 {count}, i64 %at, ptr %all)')
    return _function(f"host.ldmatrix.x{count}", "ptr %row", lines, [*range(count)])


def _function(name: str, passed: str, lines: list[str], given: list[int], kind: str = "i32") -> str:
    """A function that returns some of its registers."""
    result = "{" + ", ".join([kind] * len(given)) + "}"
    value = "undef"
    for place, number in enumerate(given):
        lines.append(f"%d{number} = load {kind}, ptr %p{number}")
        lines.append(f"%s{number} = insertvalue {result} {value}, {kind} %d{number}, {place}")
        value = f"%s{number}"
    head = f'define {result} @"{name}"({passed}) {{'
    return "\n".join((head, *lines, f"ret {result} {value}", "}", ""))


class Warps:
    """The warps of a block.

    Parameters
    ----------
    here
        What has the number of this thread: `here.number`.
    """

    def __init__(self, here: threading.local, threads: int) -> None:
        self._here = here
        count = -(-threads // WARP)
        self._barriers = [threading.Barrier(min(WARP, threads)) for _ in range(count)]
        self._registers = np.zeros((count, WARP, _REGISTERS), np.uint32)

    def multiply(self, instruction: int, registers: Any) -> None:
        """Multiply what all lanes of this thread's warp have, and write this lane's sums."""
        left, right = [*_TYPES.values()][instruction]
        lanes, lane = self._gathered(registers[:_REGISTERS])
        for number, value in enumerate(product(lanes, left, right)[lane]):
            registers[_REGISTERS - 4 + number] = int(value)

    def load(self, count: int, row: int, registers: Any) -> None:
        """Load matrices of eight rows of 16 bytes: row r of the i-th lies where lane 8 i + r says,
        and its bytes from 4 c on are for lane 4 r + c."""
        lanes, lane = self._gathered([row & 0xFFFFFFFF, row >> 32])
        for number in range(count):
            low, high = (int(each) for each in lanes[8 * number + lane // 4, :2])
            address = (high << 32 | low) + lane % 4 * 4
            registers[number] = ctypes.c_uint32.from_address(address).value

    def _gathered(self, own: list[int]) -> tuple[NDArray[np.uint32], int]:
        """What the lanes of this thread's warp have brought, and this thread's lane."""
        warp, lane = divmod(self._here.number, WARP)
        self._registers[warp, lane, : len(own)] = own
        self._barriers[warp].wait()
        found = self._registers[warp].copy()
        self._barriers[warp].wait()  # what is next overwrites the registers
        return found, lane


def product(registers: NDArray[np.uint32], left: Any, right: Any) -> NDArray[np.uint32]:
    """The sums of all lanes after a product of what they have in registers; floats are added in
    float32, one term after the other."""
    total, wide = (np.float32, np.float32) if left is np.float16 else (np.int32, np.int64)
    per = 4 // np.dtype(left).itemsize
    a_parts = np.ascontiguousarray(registers[:, :4]).view(left)  # lane, register and element
    b_parts = np.ascontiguousarray(registers[:, 4:6]).view(right)
    c_parts = np.ascontiguousarray(registers[:, 6:]).view(total)
    a, b = np.zeros((16, 8 * per), wide), np.zeros((8 * per, 8), wide)
    c = np.zeros((16, 8), wide)
    for lane in range(WARP):
        group, in_group = divmod(lane, 4)
        for i in range(4 * per):
            row = group if i < per or 2 * per <= i < 3 * per else group + 8
            column = in_group * per + i % per + (4 * per if i >= 2 * per else 0)
            a[row, column] = a_parts[lane, i]
        for i in range(2 * per):
            row = in_group * per + i % per + (4 * per if i >= per else 0)
            b[row, group] = b_parts[lane, i]
        for i in range(4):
            c[group + (8 if i >= 2 else 0), in_group * 2 + i % 2] = c_parts[lane, i]
    for term in range(8 * per):
        c = c + a[:, term : term + 1] * b[term : term + 1]
    d = c.astype(total)
    found = np.zeros((WARP, 4), total)
    for lane in range(WARP):
        group, in_group = divmod(lane, 4)
        for i in range(4):
            found[lane, i] = d[group + (8 if i >= 2 else 0), in_group * 2 + i % 2]
    return found.view(np.uint32)

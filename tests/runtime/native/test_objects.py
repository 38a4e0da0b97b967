"""Object code: as bytes, in another process, on another machine."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tandem.compiler.ir.parser import parse
from tandem.compiler.machines.cpu.codegen import ObjectCode, emit_object, load
from tandem.runtime.errors import NativeCodeError
from tests.support.compiler.machines.cpu.native import HOST, same

PROGRAM = """
func softplus(A: float32[3, 20], B: int8[20]) -> (C: float32[3, 20], D: int8[20]):
  for i in 3 parallel:
    for j in 20 vectorized:
      C[i, j] = log(exp(A[i, j]) + 1.0)
  for k in 20:
    D[k] = B[k] + 1i8
"""
PROGRAM = PROGRAM.replace(" + 1i8", " + 1")


@pytest.fixture(scope="module")
def code() -> ObjectCode:
    return emit_object(parse(PROGRAM), HOST)


def arrays() -> tuple[NDArray[Any], NDArray[Any]]:
    return np.linspace(-3, 3, 60, dtype=np.float32).reshape(3, 20), np.arange(20, dtype=np.int8)


def test_bytes_and_back(code: ObjectCode) -> None:
    again = ObjectCode.from_bytes(code.to_bytes())
    assert again == code
    a, b = arrays()
    c, d = load(again)(a, b)
    np.testing.assert_allclose(c, np.log1p(np.exp(a)), rtol=1e-6)
    same(d, b + np.int8(1))


def test_the_same_program_gives_the_same_bytes(
    code: ObjectCode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # LLVM makes it anew.
    monkeypatch.setenv("TANDEM_CACHE", str(tmp_path))
    assert emit_object(parse(PROGRAM), HOST).to_bytes() == code.to_bytes()


def test_another_process(code: ObjectCode, tmp_path: Path) -> None:
    """Nothing in it is an address of this one."""
    a, b = arrays()
    np.save(tmp_path / "a.npy", a)
    np.save(tmp_path / "b.npy", b)
    (tmp_path / "code").write_bytes(code.to_bytes())
    script = """
import sys, numpy as np
from pathlib import Path
from typing import Any
from tandem.compiler.machines.cpu.codegen import ObjectCode, load
folder = Path(sys.argv[1])
code = ObjectCode.from_bytes((folder / "code").read_bytes())
c, d = load(code, threads=2)(np.load(folder / "a.npy"), np.load(folder / "b.npy"))
np.save(folder / "c.npy", c)
np.save(folder / "d.npy", d)
"""
    subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=True, timeout=120)
    for name, here in zip(("c.npy", "d.npy"), load(code)(a, b), strict=True):
        same(np.load(tmp_path / name), here)


@given(st.data())
def test_a_changed_byte_is_refused(code: ObjectCode, data: st.DataObject) -> None:
    good = bytearray(code.to_bytes())
    where = data.draw(st.integers(0, len(good) - 1))
    good[where] ^= data.draw(st.integers(1, 255))
    with pytest.raises(NativeCodeError):
        ObjectCode.from_bytes(bytes(good))


@given(st.data())
def test_a_cut_is_refused(code: ObjectCode, data: st.DataObject) -> None:
    good = code.to_bytes()
    with pytest.raises(NativeCodeError):
        ObjectCode.from_bytes(good[: data.draw(st.integers(0, len(good) - 1))])


@given(st.binary(max_size=200))
def test_other_files_are_refused(data: bytes) -> None:
    with pytest.raises(NativeCodeError, match="object code"):
        ObjectCode.from_bytes(data)


def test_a_processor_that_lacks_a_feature(code: ObjectCode) -> None:
    lesser = replace(code, features=(*code.features, "avx1024", "fma9"))
    with pytest.raises(NativeCodeError, match="softplus needs avx1024, fma9, which this processor"):
        load(lesser)


def test_another_machine(code: ObjectCode) -> None:
    other = replace(code, triple="riscv64-unknown-none")
    with pytest.raises(NativeCodeError, match="compiled for riscv64-unknown-none; this is"):
        load(other)


def test_code_that_is_none(code: ObjectCode) -> None:
    with pytest.raises(NativeCodeError, match="softplus cannot be linked"):
        load(replace(code, code=b"\x7fELF nothing"))


def resealed(code: ObjectCode, **changes: Any) -> bytes:
    """The bytes with other values in the header, and the header's checksum."""
    line, _, rest = code.to_bytes().partition(b"\n")
    size = int(line.split()[2])
    text = json.dumps(json.loads(rest[:size]) | changes).encode()
    first = f"tandem-object 2 {len(text)} {sha256(text).hexdigest()}\n"
    return first.encode() + text + rest[size:]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": 3}, r"Expected `str`, got `int` - at `\$\.name`"),
        ({"parallel": "yes"}, r"Expected `bool`"),
        ({"shared_bytes": None}, r"Expected `int`"),
        ({"shared_bytes": 0.5}, r"Expected `int`"),
        ({"worker_bytes": -1}, r"a workspace of \d+ and -1 bytes"),
        ({"shared_bytes": 1 << 62}, r"a workspace of 4611686018427387904 and"),
        ({"features": "avx2"}, r"Expected `array`, got `str`"),
        ({"inputs": [["A"]]}, r"Expected `str`, got `array`"),
        ({"inputs": ["Z"]}, r"its parameters have other names"),
        ({"parameters": [["A", [3]]]}, r"Expected `array` of length 3"),
        ({"parameters": []}, r"its parameters have other names"),
        ({"more": 1}, r"unknown field `more`"),
    ],
    ids=str,
)
def test_headers_of_other_types(code: ObjectCode, changes: dict[str, Any], message: str) -> None:
    """With the right checksum: whoever made it had a header of another kind."""
    with pytest.raises(NativeCodeError, match=message):
        ObjectCode.from_bytes(resealed(code, **changes))


@pytest.mark.parametrize(
    ("shape", "dtype"), [([-1], "int8"), ([1] * 33, "int8"), ([1 << 62], "int8"), ([1], "object")]
)
def test_parameters_that_are_no_arrays(code: ObjectCode, shape: list[int], dtype: str) -> None:
    first, *others = ([each.name, each.shape, each.dtype] for each in code.parameters)
    parameters = [[first[0], shape, dtype], *others]
    with pytest.raises(NativeCodeError, match=rf"object code of softplus: A is {dtype}\["):
        ObjectCode.from_bytes(resealed(code, parameters=parameters))

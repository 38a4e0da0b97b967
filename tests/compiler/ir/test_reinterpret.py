"""Values with the bits of values of another type: text, checks, meaning."""

from __future__ import annotations

import numpy as np
import pytest

from tandem.compiler.errors import IRError
from tandem.compiler.ir import interpreter
from tandem.compiler.ir.parser import parse
from tandem.compiler.ir.printer import text
from tandem.compiler.ir.verify import verify
from tandem.compiler.machines.cpu.codegen import CpuTarget, compile_function

PROGRAM = """\
func f(X: float32[8], N: int64[8]) -> (Y: uint32[8], Z: float64[8]):
  for i in 8:
    Y[i] = bits_uint32(X[i]) ^ 1
    Z[i] = bits_float64(N[i] + 1)
"""


def test_text_and_meaning() -> None:
    program = parse(PROGRAM)
    verify(program)
    assert text(program) == PROGRAM
    x = np.random.default_rng(0).standard_normal(8).astype(np.float32)
    n = np.random.default_rng(1).integers(0, 2**62, 8)
    for found in (
        interpreter.run(program, [x, n]),
        compile_function(program, CpuTarget.host(threads=1))(x, n),
    ):
        np.testing.assert_array_equal(found[0], x.view(np.uint32) ^ 1)
        np.testing.assert_array_equal(found[1], (n + 1).view(np.float64))


def test_refusals() -> None:
    with pytest.raises(IRError, match="the bits of float32 are none of uint64"):
        parse(PROGRAM.replace("bits_uint32", "bits_uint64").replace("Y: uint32", "Y: uint64"))

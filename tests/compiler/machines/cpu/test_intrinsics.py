from __future__ import annotations

from tandem.compiler.ir.verify import verify
from tandem.compiler.machines.cpu.codegen.tensor_intrinsics import EMITTERS
from tandem.compiler.machines.cpu.intrinsics import CPU_INTRINSICS


def test_each_is_a_program_and_has_an_emitter() -> None:
    assert set(EMITTERS) == set(CPU_INTRINSICS)
    for name, intrinsic in CPU_INTRINSICS.items():
        verify(intrinsic.function)
        assert intrinsic.function.name == name
        assert intrinsic.features

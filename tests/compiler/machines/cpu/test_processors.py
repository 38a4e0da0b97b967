"""Processors by name, and by LLVM's names."""

from __future__ import annotations

import pytest

from tandem.compiler.errors import CodegenError
from tandem.compiler.machines.cpu.processors import PROCESSORS, named_processor, processor_of


def test_names() -> None:
    for name, processor in PROCESSORS.items():
        found = named_processor(name)
        assert (found.triple, found.cpu, found.threads) == (processor.triple, processor.cpu, 1)
        assert named_processor(name, 3).threads == 3
        assert [*processor.features] == sorted({*processor.features}), name
    assert named_processor("cortex-m4", fpu=False) == PROCESSORS["cortex-m4"].without_fpu()
    assert named_processor("cortex-m4", fpu=False) != named_processor("cortex-m4")


def test_names_of_none() -> None:
    message = r"^no processor 'cortex-a54': there are cortex-a53, .*; did you mean cortex-a5[35]\?$"
    with pytest.raises(CodegenError, match=message):
        named_processor("cortex-a54")
    with pytest.raises(CodegenError, match=r"^no processor 'zzz': .*, wasm32$"):
        named_processor("zzz")
    with pytest.raises(CodegenError, match=r"^no code for cortex-a53 without its FPU"):
        named_processor("cortex-a53", fpu=False)


@pytest.mark.parametrize(
    ("triple", "features", "wanted"),
    [
        ("aarch64-unknown-linux-gnu", (), ("fp-armv8", "neon")),
        ("aarch64-unknown-linux-gnu", ("dotprod", "neon"), ("dotprod", "fp-armv8", "neon")),
        ("riscv64-unknown-linux-gnu", ("v",), ("a", "c", "d", "f", "m", "v")),
        ("riscv32-unknown-elf", ("m",), ("m",)),
        ("x86_64-unknown-linux-gnu", ("fma", "avx2"), ("avx2", "fma")),
    ],
)
def test_architectures(triple: str, features: tuple[str, ...], wanted: tuple[str, ...]) -> None:
    found = processor_of(triple, "some", features, 2)
    assert (found.triple, found.cpu, found.features, found.threads) == (triple, "some", wanted, 2)
    assert not found.proven
    assert processor_of(triple).threads == 1


def test_other_architectures() -> None:
    with pytest.raises(CodegenError, match=r"^s390x-ibm-linux is big-endian: artifacts hold"):
        processor_of("s390x-ibm-linux")
    with pytest.raises(CodegenError, match=r"^no code for avr-none: the architectures are"):
        processor_of("avr-none")

"""Processors by name, for which networks are compiled on another one.

A name stands for LLVM's: triple, processor and instruction sets. Of each vector unit the code uses
what all processors of the name have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from types import MappingProxyType
from typing import Final

from tandem.compiler.errors import CodegenError
from tandem.compiler.machines.cpu.codegen import CpuTarget

_ARM, _RISC_V = "aarch64-unknown-linux-gnu", "riscv64-unknown-linux-gnu"
_ARMV8: Final = ("fp-armv8", "neon")
_RV64GC: Final = ("a", "c", "d", "f", "m")
_CORTEX_M4: Final = ("dsp", "fp16", "vfp4d16sp")
_CORTEX_M55: Final = ("dsp", "fp-armv8d16", "mve", "mve.fp")

PROCESSORS: Mapping[str, CpuTarget] = MappingProxyType(
    {
        "cortex-a53": CpuTarget(_ARM, "cortex-a53", _ARMV8),
        "cortex-a55": CpuTarget(_ARM, "cortex-a55", ("dotprod", *_ARMV8)),
        "cortex-a72": CpuTarget(_ARM, "cortex-a72", _ARMV8),
        "cortex-m4": CpuTarget("thumbv7em-none-eabi", "cortex-m4", _CORTEX_M4),
        "cortex-m55": CpuTarget("thumbv8.1m.main-none-eabi", "cortex-m55", _CORTEX_M55),
        "neoverse-n1": CpuTarget(_ARM, "neoverse-n1", ("dotprod", *_ARMV8)),
        "rv32im": CpuTarget("riscv32-unknown-elf", "generic-rv32", ("m",)),
        "rv32imc": CpuTarget("riscv32-unknown-elf", "generic-rv32", ("c", "m")),
        "rv64gc": CpuTarget(_RISC_V, "generic-rv64", _RV64GC),
        "rv64gcv": CpuTarget(_RISC_V, "generic-rv64", (*_RV64GC, "v")),
        "wasm32": CpuTarget("wasm32-unknown-unknown", "generic", ("simd128",)),
    }
)
"""Processors that a name stands for, with one thread."""
_BIG_ENDIAN: Final = ("aarch64_be", "armeb", "mips", "mips64", "powerpc", "powerpc64", "s390x")
_BASE: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {
        "aarch64": _ARMV8,
        "riscv32": (),
        "riscv64": _RV64GC,
        "thumbv7em": (),
        "thumbv8.1m.main": (),
        "wasm32": (),
        "x86_64": (),
    }
)
"""The architectures, and the instruction sets that are assumed of each."""


def named_processor(name: str, threads: int | None = None, *, fpu: bool = True) -> CpuTarget:
    """The processor of a name, with its instructions for floats or without. Raises `CodegenError`
    for another name, or if the processor is not made without them."""
    found = PROCESSORS.get(name)
    if found is None:
        near = get_close_matches(name, PROCESSORS, 1)
        hint = f"; did you mean {near[0]}?" if near else ""
        raise CodegenError(f"no processor {name!r}: there are {', '.join(PROCESSORS)}{hint}")
    return replace(found if fpu else found.without_fpu(), threads=threads or 1)


def processor_of(
    triple: str, cpu: str = "", features: tuple[str, ...] = (), threads: int | None = None
) -> CpuTarget:
    """A processor by LLVM's names, of an architecture whose code is tested.

    Parameters
    ----------
    cpu
        LLVM's name of the processor, for its pipeline; empty for any of the architecture.
    features
        Names of its instruction sets, such as `dotprod`. `neon` need not be named.

    Raises
    ------
    CodegenError
        Another architecture; big-endian ones are refused as such. What LLVM knows of the names
        is found when a kernel is compiled.
    """
    architecture = triple.partition("-")[0]
    if architecture in _BIG_ENDIAN:
        raise CodegenError(f"{triple} is big-endian: artifacts hold little-endian numbers")
    base = _BASE.get(architecture)
    if base is None:
        raise CodegenError(f"no code for {triple}: the architectures are {', '.join(_BASE)}")
    known = tuple(sorted({*base, *features}))
    return CpuTarget(triple, cpu, known, threads or 1, proven=False)

"""Machine code of LLVM modules.

LLVM neither unrolls nor vectorizes loops here: the schedule decides which loops are.
"""

from __future__ import annotations

from typing import Any

import llvmlite
from llvmlite import binding

from tandem.base.processor import target_of
from tandem.compiler.errors import CodegenError
from tandem.compiler.machines.cpu.codegen.cpu_target import CpuTarget

_LEVEL = 3
_CODE_MODEL = "small"
_TUNING = {
    "loop_unrolling": False,
    "loop_vectorization": False,
    "loop_interleaving": False,
    "slp_vectorization": False,
}
SETTINGS = (llvmlite.__version__, f"{_LEVEL} {_CODE_MODEL} {_TUNING} data layout")
"""All that determines an object beside the module's text and the processor."""


def code_of(text: str, triple: str, cpu: str, features: str, abi: str, relocation: str) -> bytes:
    """The object file of an LLVM module's text, by LLVM's names. Raises `CodegenError` as
    `machine_of` and `optimise`."""
    machine = _machine(triple, cpu, features, abi, relocation)
    return bytes(machine.emit_object(optimise(text, machine)))


def machine_of(target: CpuTarget) -> Any:
    """LLVM's code generator for a processor. Raises `CodegenError` if LLVM has none."""
    return _machine(target.triple, target.cpu, target.feature_string, target.abi, target.relocation)


def _machine(triple: str, cpu: str, features: str, abi: str, relocation: str) -> Any:
    try:
        kind = target_of(triple)
    except RuntimeError as error:
        raise CodegenError(f"LLVM cannot make code for {triple} here: {error}") from None
    return kind.create_target_machine(
        cpu=cpu,
        features=features,
        opt=_LEVEL,
        reloc=relocation,
        codemodel=_CODE_MODEL,
        abiname=abi,
    )


def optimise(text: str, machine: Any) -> Any:
    """The LLVM module of `text`, optimised. Raises `CodegenError` for an illegal module."""
    try:
        module = binding.parse_assembly(text)
        module.data_layout = str(machine.target_data)
        module.verify()
    except RuntimeError as error:
        raise CodegenError(f"LLVM refuses the module: {error}") from None
    options = binding.create_pipeline_tuning_options(_LEVEL)
    for name, value in _TUNING.items():
        setattr(options, name, value)
    passes = binding.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return module

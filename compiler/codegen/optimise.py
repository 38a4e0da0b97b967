"""From LLVM's text to machine code.

LLVM neither unrolls nor vectorizes loops here: the schedule has said which loops are.
"""

from __future__ import annotations

from typing import Any

from llvmlite import binding

from compiler.codegen.target import CpuTarget
from compiler.errors import CodegenError
from runtime.native.host import initialise

__all__ = ["machine_code", "machine_of", "optimise"]

_LEVEL = 3


def machine_code(text: str, target: CpuTarget) -> bytes:
    """An object file, position-independent, of a module's text."""
    machine = machine_of(target)
    code: bytes = machine.emit_object(optimise(text, machine))
    return code


def machine_of(target: CpuTarget) -> Any:
    """LLVM's code generator for a processor; refused where LLVM has none."""
    initialise()
    try:
        kind = binding.Target.from_triple(target.triple)
    except RuntimeError as error:
        raise CodegenError(f"no code for {target.triple} can be made here: {error}") from None
    return kind.create_target_machine(
        cpu=target.cpu,
        features=target.feature_string,
        opt=_LEVEL,
        reloc="pic",
        codemodel="small",
    )


def optimise(text: str, machine: Any) -> Any:
    """The module that a text is, after LLVM's passes; refused where it is no legal module."""
    try:
        module = binding.parse_assembly(text)
        module.verify()
    except RuntimeError as error:
        raise CodegenError(f"LLVM refuses the module: {error}") from None
    options = binding.create_pipeline_tuning_options(_LEVEL)
    options.loop_unrolling = False
    options.loop_vectorization = False
    options.loop_interleaving = False
    options.slp_vectorization = False
    passes = binding.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return module
